"""Interfaces of policies that choose actions, and the choice of an action from log-probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

ILLEGAL: Final = -1e9  # as in burnish.learning.agents.policy


class Actor(Protocol):
    """A chooser of actions: a Policy, a QNetwork, or an exported policy."""

    def act(self, observations: Sequence[Any], masks: Any, generator: Any = None) -> Any:
        """Choose a legal action for each of B environments: int64[B]; without a generator, the best one."""


class ActionPolicy(Protocol):
    """A policy that chooses the next action, whatever library runs its network."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The n actions, in the order of masks."""

    @property
    def card(self) -> Mapping[str, Any]:
        """Metadata; `burnish train` writes the task, objective, observation, max_steps, and more."""

    def log_probs(self, observations: Sequence[Any], masks: Mask) -> Floats:
        """Return float32[B, n] for B observations; about ILLEGAL where the mask bool[B, n] is False."""

    def evaluate(self, observations: Sequence[Any], masks: Mask) -> tuple[Floats, Floats]:
        """Return `log_probs` and the values float32[B].

        Raises:
            InputError: the policy has no critic.
        """


def choose(log_probs: Floats, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
    """Return an action for each row of [B, n]: the most probable one, or with `rng`, a drawn one."""
    if rng is not None:
        log_probs = log_probs + rng.gumbel(size=log_probs.shape).astype(np.float32)
    chosen: NDArray[np.int64] = log_probs.argmax(axis=-1)
    return chosen


def masked_log_softmax(logits: Floats, mask: Mask) -> Floats:
    """Return log-probabilities over the last axis; about ILLEGAL where `mask` (same shape) is False."""
    kept = np.where(mask, logits, np.float32(ILLEGAL))
    shifted = kept - kept.max(axis=-1, keepdims=True)
    log_probs: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return log_probs
