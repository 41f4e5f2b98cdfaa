"""Passes first, then the machine code of the best module: two searches, each in a process of its own.

Request.divided says what part of the budget each has. What an attempt is made to, one object or a whole
program, and what is better is said by a subclass: burnish.cc.improve and burnish.cc.link.one_link.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from burnish.cc.guard import Guard
from burnish.cc.requests import Attempt, KeptReference, Optimizer, Request
from burnish.core.errors import BurnishError


class Trials(ABC):
    """What is tried for one module, and the best of it; a search that fails costs nothing but its budget."""

    def __init__(self, module: bytes, command: tuple[str, ...], optimizer: Optimizer, guard: Guard) -> None:
        self.module = module  # before any pass
        self.command = command  # of clang -cc1, by whose options code is generated
        self.optimizer, self.guard = optimizer, guard
        self.own: bytes | None = None  # clang's object after the level's own passes, if it is known
        self.best: Attempt | None = None
        self.reasons: list[str] = []  # why what was tried did not help
        self.evaluations = self.crashes = 0  # of both searches

    @abstractmethod
    def take(self, attempt: Attempt) -> None:
        """Make of an attempt what it is for, and keep that as the best where it is.

        Raises:
            KeptReference: that fails.
        """

    @abstractmethod
    def generated(self) -> tuple[Attempt, bytes]:
        """Return the module whose code is to be decided, and clang's object of it.

        Raises:
            KeptReference: there is none.
        """

    def finished(self, found: Attempt) -> Attempt:
        """Return what the optimizer made, ready for code generation; called in its process."""
        if not isinstance(found, Attempt):
            raise TypeError(f"expected Attempt from the optimizer, got {type(found).__name__}")
        return found

    def try_passes(self, request: Request) -> None:
        """Try the passes that the optimizer finds."""
        with self.trying():
            forked = request.forked()
            self.take(self._searched(lambda: self.finished(self.optimizer(self.module, forked))))

    def try_code(self, request: Request) -> None:
        """Try to decide the machine code of the best module's functions."""
        with self.trying():
            module, reference = self.generated()
            forked = request.forked()

            def decide() -> Attempt:
                from burnish.cc import machine_code  # as all that loads LLVM

                of_clang = machine_code.Generated(
                    module.bitcode, self.module, reference, self.command, self.own, module.run_time
                )
                return machine_code.decide(of_clang, forked)

            found = self._searched(decide)
            self.take(replace(found, trace=(*module.trace, *found.trace)))

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Keep the reason where what is tried in the block fails."""
        try:
            yield
        except (KeptReference, BurnishError) as why:
            self.reasons.append(str(why))

    def _searched(self, search: Callable[[], Attempt]) -> Attempt:
        try:
            found = self.guard.search(search)
        except KeptReference as why:
            self._count(why)
            raise
        self._count(found)
        return found

    def _count(self, search: Attempt | KeptReference) -> None:
        self.evaluations += search.evaluations
        self.crashes += search.crashes
