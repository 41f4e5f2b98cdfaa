"""Policies that answer the questions of a compiler, inside the session that asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from burnish.core.view import Mask, Observed


class Answerer(Protocol):
    """A policy that answers the compiler's questions."""

    @property
    def observations(self) -> tuple[str, ...]:
        """The task's observations that the policy reads."""

    def __call__(self, observed: tuple[Observed, ...], legal: Mask) -> int:
        """Return an action that is legal at the question; `legal` is bool[n]."""


MakeAnswerer = Callable[[], Answerer]
"""Makes an Answerer, once, in the process of the session: a function of a module, or a frozen dataclass with
`__call__`, because it is pickled, hashed and compared."""


@lru_cache(maxsize=4)
def made(make: MakeAnswerer) -> Answerer:
    """Return the Answerer that `make` makes; the last four are cached."""
    return make()
