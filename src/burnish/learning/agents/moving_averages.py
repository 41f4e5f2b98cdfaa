"""MLGO's reward: how much smaller a module is than it was lately, for every one of its decisions alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from burnish.learning.agents.rollout import Episode

SHIFT = 0.01  # added to both sizes, as ml-compiler-opt does (compiler_opt/rl/compilation_runner.py)


class MovingAverages:
    """Rewards 1 - (size + 0.01) / (average + 0.01), by the average of each program's sizes.

    Sizes are in units of what the program costs at first. The average begins there, and is
    decay average + (1 - decay) size after each episode (Trofin et al. 2021, section 4.2).
    """

    def __init__(self, decay: float | None) -> None:
        """Begin without any program; None leaves rewards as they are."""
        self.decay = decay
        self.averages: dict[str, float] = {}

    def rewarded(self, played: Sequence[Episode]) -> list[Episode]:
        """Return episodes with this reward at every step, and count them; those that crashed keep theirs.

        Their own rewards are the logs of cost before / cost after.
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
        """Return all that is needed to go on."""
        return {"averages": dict(self.averages)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another one was."""
        self.averages = dict(state["averages"])
