"""MLGO's reward: a module's size relative to a moving average, the same for every decision of an episode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from burnish.learning.agents.rollout import Episode

SHIFT = 0.01  # added to both sizes, as ml-compiler-opt does (compiler_opt/rl/compilation_runner.py)


class MovingAverages:
    """Rewards 1 - (size + 0.01) / (average + 0.01), with a moving average of each program's sizes.

    Sizes are in units of the program's initial cost. The average begins at 1, and is
    decay average + (1 - decay) size after each episode (Trofin et al. 2021, section 4.2).
    """

    def __init__(self, decay: float | None) -> None:
        """Start without averages; a `decay` of None leaves rewards unchanged."""
        self.decay = decay
        self.averages: dict[str, float] = {}

    def rewarded(self, played: Sequence[Episode]) -> list[Episode]:
        """Return episodes with this reward at every step, and update the averages.

        The given rewards must be log(cost before / cost after). Crashed episodes keep them and do not count.
        """
        if self.decay is None:
            return list(played)
        found = []
        for episode in played:
            if episode.crashed or not len(episode):
                found.append(episode)
                continue
            size = math.exp(-math.fsum(episode.rewards))
            average = self.averages.get(episode.program, 1.0)
            reward = 1 - (size + SHIFT) / (average + SHIFT)
            self.averages[episode.program] = self.decay * average + (1 - self.decay) * size
            found.append(replace(episode, rewards=[reward] * len(episode)))
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs."""
        return {"averages": dict(self.averages)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another instance."""
        self.averages = dict(state["averages"])
