"""Replay buffer of transitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from burnish.core.view import Mask
from burnish.learning.agents.policy import as_mask
from burnish.learning.agents.rollout import Episode

Floats = NDArray[np.float64]


class Transition(NamedTuple):
    """A step, and its outcome after up to n steps."""

    observation: Any
    mask: Mask  # bool[n]
    action: int
    reward: float  # discounted sum of up to n rewards
    next_observation: Any  # after these rewards
    next_mask: Mask  # bool[n]
    discount: float  # of the next state's value; 0 if the episode has ended


@dataclass(frozen=True)
class TransitionBatch:
    """B transitions; the observations are not batched, because batching depends on the network."""

    observations: Sequence[Any]  # B
    masks: torch.Tensor  # bool[B, n]
    actions: torch.Tensor  # int64[B]
    rewards: torch.Tensor  # float32[B]
    next_observations: Sequence[Any]  # B
    next_masks: torch.Tensor  # bool[B, n]
    discounts: torch.Tensor  # float32[B]


def updates_due(steps: int, learning_starts: int, per_step: float) -> int:
    """Return the total number of updates due after `steps` steps."""
    return int(max(0, steps - learning_starts) * per_step)


def n_step_returns(rewards: Floats, steps: int, discount: float) -> tuple[Floats, NDArray[np.int64]]:
    """Return n-step returns R of rewards float64[L], and the number m of rewards in each: int64[L].

    R_t = r_t + discount r_{t+1} + ... of m_t = min(steps, L - t) rewards.
    """
    length = len(rewards)
    padded = np.append(rewards, np.zeros(steps - 1))
    sums = sum(discount**k * padded[k : k + length] for k in range(steps))
    return np.asarray(sums), np.minimum(steps, length - np.arange(length))


def transitions(episode: Episode, *, steps: int, discount: float, bootstrap: bool) -> list[Transition]:
    """Return an episode's transitions, with n-step returns.

    Args:
        episode: An episode that is over.
        steps: n, the most rewards of a return.
        discount: Discount per step.
        bootstrap: Whether to add the value of the last state of a truncated episode.
    """
    sums, counts = n_step_returns(np.array(episode.rewards), steps, discount)
    ended = episode.terminated or not bootstrap
    found = []
    for t, (reward, count) in enumerate(zip(sums.tolist(), counts.tolist(), strict=True)):
        end = t + count
        found.append(
            Transition(
                episode.observations[t],
                episode.masks[t],
                episode.actions[t],
                reward,
                episode.observations[end],
                episode.masks[end],
                0.0 if ended and end == len(episode) else discount**count,
            )
        )
    return found


class Replay:
    """The last `capacity` transitions, with their observations unbatched."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._kept: list[Transition] = []
        self._next = 0  # next transition to overwrite, once the buffer is full

    def __len__(self) -> int:
        return len(self._kept)

    def extend(self, new: Sequence[Transition]) -> None:
        """Add transitions; a full buffer drops the oldest ones."""
        for transition in new:
            if len(self._kept) < self.capacity:
                self._kept.append(transition)
            else:
                self._kept[self._next] = transition
                self._next = (self._next + 1) % self.capacity

    def sample(self, count: int, rng: np.random.Generator, device: torch.device) -> TransitionBatch:
        """Draw transitions independently, with replacement."""
        drawn = [self._kept[i] for i in rng.integers(len(self._kept), size=count).tolist()]
        seen, masks, actions, rewards, following, next_masks, discounts = zip(*drawn, strict=True)
        return TransitionBatch(
            seen,
            as_mask(masks, device),
            torch.tensor(actions, device=device),
            torch.tensor(rewards, device=device),
            following,
            as_mask(next_masks, device),
            torch.tensor(discounts, device=device),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the transitions and the next position."""
        return {"transitions": [tuple(transition) for transition in self._kept], "next": self._next}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load the state of another buffer of the same capacity."""
        self._kept = [Transition(*transition) for transition in state["transitions"]]
        self._next = state["next"]
