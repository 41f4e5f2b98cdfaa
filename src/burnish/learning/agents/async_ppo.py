"""PPO whose episodes come from actors, which play all the time and wait neither for it nor for each other.

An actor's policy is some updates old, so the learner corrects for it: with V-trace (Espeholt et al. 2018,
section 4.1) or with PPO's ratio alone. The probabilities of the policy that acted travel with the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import torch

from burnish.core.errors import InputError
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.learner import check_ranges, first_program
from burnish.learning.agents.policy import Policy, as_mask
from burnish.learning.agents.ppo import PPO, Floats, PPOConfig, RolloutBatch, Trajectory
from burnish.learning.agents.rollout import Episode, Notes


@dataclass(frozen=True)
class AsyncPPOConfig(PPOConfig):
    """The keys of [algorithm]; an iteration learns from `steps` for each environment of all actors."""

    staleness: int = 4  # most updates between the policies that began an episode and that learn from it
    correction: Literal["v-trace", "ratio"] = "v-trace"

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        super().__post_init__()
        check_ranges(self, staleness=(1, math.inf))
        if self.correction not in ("v-trace", "ratio"):
            raise InputError(f"correction: expected 'v-trace' or 'ratio', not {self.correction!r}")


@dataclass(frozen=True)
class Played:
    """An episode that an actor has played."""

    episode: Episode  # its notes: log-probability and value, by the policy that acted
    version: int  # of the policy with which it began


class Actors(Protocol):
    """Processes that play episodes all the time."""

    count: int  # of actors
    lost: int  # actors that died so far; others took their places

    def publish(self, version: int, first: int, policy: Mapping[str, Any]) -> None:
        """Give all actors the parameters of a version; programs of new actors begin with number `first`."""

    def take(self, steps: int, oldest: int) -> list[Played]:
        """Wait for at least so many steps, and for all episodes that began with a version before `oldest`.

        Episodes come in the order of their ends; every episode comes once.
        """


def vtrace(trajectory: Trajectory, ratios: Floats, *, discount: float, keep: float) -> tuple[Floats, Floats]:
    """Return V-trace's advantages and the values to learn, of consecutive episodes: float64[T] each.

    With w_t = min(1, ratios_t), the values v_t and the advantages A_t are

        A_t = r_t + discount ((1 - keep) V(s_{t+1}) + keep v_{t+1}) - V(s_t)
        v_t = V(s_t) + w_t A_t

    If all ratios are 1, the advantages are those of `gae`. The policy's loss has the ratio itself, so the
    advantages do not.

    Args:
        trajectory: The steps; `values` and `next_values` are by the current policy.
        ratios: Probabilities of the actions by the current policy, over those by the policy that acted.
        discount: Of the next step's value.
        keep: GAE's lambda.
    """
    weights = np.minimum(1.0, ratios)
    following_values = trajectory.next_values * ~trajectory.terminated
    errors = trajectory.rewards + discount * following_values - trajectory.values
    keeps = discount * keep * ~trajectory.over
    advantages, targets = np.empty_like(errors), np.empty_like(errors)
    corrected = 0.0  # v_{t+1} - V(s_{t+1})
    for t in range(len(errors) - 1, -1, -1):
        advantages[t] = errors[t] + keeps[t] * corrected
        corrected = weights[t] * advantages[t]
        targets[t] = trajectory.values[t] + corrected
    return advantages, targets


class AsyncPPO(PPO):
    """A learner: see burnish.learning.agents.learner.Learner. Its results depend on the actors' times."""

    config: AsyncPPOConfig

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: AsyncPPOConfig | None = None,
        *,
        seed: int,
        actors: Actors,
    ) -> None:
        """Make the policy and its optimizer; `envs` are as many as an actor's, and are not played in."""
        super().__init__(envs, make_policy, config or AsyncPPOConfig(), seed=seed)
        self.actors = actors
        self._lags: list[int] = []

    def batch(self, played: Sequence[Episode]) -> RolloutBatch:
        """Return the training batch; with V-trace, values and ratios are by the current policy."""
        if self.config.correction == "ratio":
            return super().batch(played)
        return super().batch([self._judged(episode) for episode in played])

    def _judged(self, episode: Episode) -> Episode:
        """Return an episode whose notes are the actor's log-probability, and the value and ratio now."""
        device = self.policy.encoder.device
        with torch.no_grad():
            batch = self.policy.collate(episode.observations[:-1])
            found, values = self.policy.evaluate(batch, as_mask(episode.masks[:-1], device))
        log_probs = found.cpu().numpy()[np.arange(len(episode)), episode.actions]
        before = np.array(episode.notes)[:, 0]
        columns = (before, values.cpu().numpy(), np.exp(log_probs - before))
        return replace(episode, notes=list(np.stack(columns, axis=1).astype(np.float64)))

    def _estimate(self, trajectory: Trajectory, notes: Notes) -> tuple[Floats, Floats]:
        if self.config.correction == "ratio":
            return super()._estimate(trajectory, notes)
        return vtrace(trajectory, notes[:, 2], discount=self.config.discount, keep=self.config.gae_lambda)

    def _play(self) -> list[Episode]:
        actors, now = self.actors, self.iterations
        actors.publish(now, first_program(self.seed, self.episodes), self.policy.state_dict())
        steps = self.config.steps * self.envs.num_envs * actors.count
        found = actors.take(steps, oldest=now + 1 - self.config.staleness)
        self._lags = [now - one.version for one in found]
        return [one.episode for one in found]

    def _count(self, played: Sequence[Episode]) -> dict[str, float]:
        lags = {"staleness": float(np.mean(self._lags)), "staleness/most": float(max(self._lags))}
        return super()._count(played) | lags | {"actors/lost": float(self.actors.lost)}
