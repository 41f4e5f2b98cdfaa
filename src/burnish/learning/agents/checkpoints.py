"""Checkpoints of learners: one list of attributes for both saving and loading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from burnish.learning.agents.learner import check_algorithm

PROGRESS = ("steps", "episodes")


@dataclass(frozen=True)
class Saved:
    """The attributes of a learner that its checkpoint holds.

    Attributes:
        algorithm: The algorithm's name; a state of another algorithm is refused.
        parts: Attributes that are tensors, objects with a state_dict, or mappings of these.
        counters: Numbers beside the seed and the counts of iterations, steps and episodes.
    """

    algorithm: str
    parts: tuple[str, ...]
    counters: tuple[str, ...] = ()

    def state_of(self, learner: object) -> dict[str, Any]:
        """Return a learner's state; tensors are those in use, not copies."""
        numbers = ("seed", "iterations", *PROGRESS, *self.counters)
        return {
            "algorithm": self.algorithm,
            **{name: getattr(learner, name) for name in numbers},
            **{name: _state_of(getattr(learner, name)) for name in self.parts},
        }

    def load(self, learner: object, state: dict[str, Any]) -> None:
        """Set a learner to the state of another learner with the same config.

        Raises:
            InputError: the state is of another algorithm.
        """
        check_algorithm(state, self.algorithm)
        for name in self.parts:
            _load(getattr(learner, name), state[name])
        for name in ("seed", "iterations", *PROGRESS, *self.counters):
            setattr(learner, name, state[name])

    def counted(self, learner: object) -> dict[str, float]:
        """Return the numbers of steps and episodes so far, and the other counters, as metrics."""
        return {name: float(getattr(learner, name)) for name in (*PROGRESS, *self.counters)}


def _state_of(part: Any) -> Any:
    if isinstance(part, Tensor):
        return part.detach()
    if isinstance(part, Mapping):
        return {name: _state_of(item) for name, item in part.items()}
    return part.state_dict()


def _load(part: Any, state: Any) -> None:
    if isinstance(part, Tensor):
        with torch.no_grad():
            part.copy_(state)
    elif isinstance(part, Mapping):
        for name, item in part.items():
            _load(item, state[name])
    else:
        part.load_state_dict(state)
