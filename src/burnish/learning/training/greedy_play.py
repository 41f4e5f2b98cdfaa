"""Greedy play: the most probable action in every state, without repeating actions that change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from burnish.core.view import Mask
from burnish.policies.choose import Actor

HISTORY = "trace"  # the observation that changes with every action, even one without effect


class Greedy:
    """Greedy player of one episode.

    After an action that leaves the observation unchanged, a greedy policy would repeat that action for ever.
    So such an action is excluded until the observation or the question changes.
    """

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._before: Any = None
        self._question = ""
        self._last = -1
        self._futile: set[int] = set()

    def choose(self, observation: Any, mask: Mask, question: str = "") -> int:
        """Return a legal action; once all legal actions are excluded, all are allowed again.

        Args:
            observation: The current observation.
            mask: bool[n]; True: legal. At least one is.
            question: The site that the compiler asks about; "" if it asks nothing.
        """
        if self._last >= 0 and question == self._question and looks_same(self._before, observation):
            self._futile.add(self._last)
        else:
            self._futile.clear()
        left = mask.copy()
        left[list(self._futile)] = False
        if not left.any():
            self._futile.clear()
            left = mask
        self._before, self._question = observation, question
        self._last = int(self._actor.act([observation], left[None], None)[0])
        return self._last


def looks_same(one: Any, other: Any) -> bool:
    """Return whether two observations are equal, ignoring HISTORY in a dict of several observations."""
    if isinstance(one, dict):
        names = [name for name in one if name != HISTORY]
        return bool(names) and all(looks_same(one[name], other[name]) for name in names)
    if isinstance(one, tuple):  # a graph
        return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)
