"""The sampler that chooses each episode's program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.envs.env_arguments import MAKER, check_call, made

Order = Literal["cycle", "shuffle", "sample"]
Programs = Program | Sequence[Program] | Callable[[int], Program]
"""One program, several programs, or a function from a number to a program: an endless supply.

A sequence's programs are read at their turn and not before, because a corpus may open them on access.
"""

_ENDLESS = 2**31  # a function's argument is drawn from so many numbers


class ProgramSampler:
    """The programs of an environment, in an order.

    cycle: in sequence, beginning with the first program or the seed's. shuffle: all programs in a random
    order, then all in another. sample: an independent draw each time, by `weights` if given.
    """

    def __init__(self, programs: Programs, order: Order, weights: Sequence[float] | None = None) -> None:
        if order not in get_args(Order):
            raise UnknownName.among("order", order, get_args(Order))
        self.programs: Sequence[Program] | Callable[[int], Program] = (
            (programs,) if isinstance(programs, Program) else programs
        )
        if callable(self.programs):
            check_call(f"programs={self.programs!r}", self.programs, (0,), MAKER)
        self.count = None if callable(self.programs) else len(self.programs)
        if self.count == 0:
            raise InputError("an environment needs at least one program")
        if self.count is None and order == "shuffle":
            raise InputError(
                "a function makes programs without end, which cannot be shuffled; expected order "
                "'cycle' or 'sample'"
            )
        self._order = order
        self._shares = _shares(weights, order, self.count)
        self.stride = 1  # of the cycle; each of n environments with the same programs takes every n-th
        self._next = 0
        self._shuffled: NDArray[np.int64] | None = None

    def restart(self, seed: int) -> None:
        """Begin with the seed's program, or with a new random order."""
        self._next = seed if self._order == "cycle" else 0
        self._shuffled = None

    def next(self, rng: np.random.Generator) -> Program:
        """Return the next program."""
        if callable(self.programs):
            number = self._number(_ENDLESS, rng)
            return made(self.programs(number), number)
        return self.programs[self._number(len(self.programs), rng)]

    def find(self, name: str | Program) -> Program:
        """Return a program by its name; a Program is returned as it is.

        Raises:
            InputError: no program has that name, or programs are made by a function.
        """
        if isinstance(name, Program):
            return name
        if callable(self.programs):
            raise InputError(f"{name!r}: a function makes programs without known names; give a Program")
        if find := getattr(self.programs, "find", None):  # a corpus finds a name without opening all programs
            found: Program = find(name)
            return found
        for program in self.programs:
            if program.name == name:
                return program
        raise UnknownName.among("program of this environment", name, [one.name for one in self.programs])

    def _number(self, count: int, rng: np.random.Generator) -> int:
        if self._order == "sample":
            if self._shares is None:
                return int(rng.integers(count))
            return int(np.searchsorted(self._shares, rng.random(), side="right"))
        turn = self._next % count
        if self._order == "cycle":
            self._next += self.stride
            return turn
        self._next += 1
        if self._shuffled is None or turn == 0:
            self._shuffled = rng.permutation(count)
        return int(self._shuffled[turn])


def _shares(weights: Sequence[float] | None, order: Order, count: int | None) -> NDArray[np.float64] | None:
    """Return the cumulative probabilities, float64[count]; None for equal weights."""
    if weights is None:
        return None
    if order != "sample" or count is None or len(weights) != count:
        raise InputError("expected weights only with order='sample', one number for each program")
    try:
        values = np.asarray(weights, dtype=np.float64)
    except ValueError:
        raise InputError(f"weights={weights!r:.60}: expected numbers, one for each program") from None
    if not (np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0):
        raise InputError("expected weights of 0 or more, not all of them 0")
    total: NDArray[np.float64] = np.cumsum(values) / values.sum()
    total[np.flatnonzero(values)[-1] :] = 1.0  # rounding may have left the last one below 1
    return total
