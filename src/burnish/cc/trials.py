"""Passes first, then the machine code of the best module: two searches, each in its own process.

Request.divided divides the budget between them. Subclasses make an object or a whole program of an attempt,
and compare attempts: burnish.cc.object_trials and burnish.cc.link.steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from burnish.cc.isolation import Guard
from burnish.cc.repeating import BEGIN, replayed, split_code
from burnish.cc.requests import (
    DEFAULT_OBJECTIVE,
    Attempt,
    KeptReference,
    LeftToClang,
    Optimizer,
    Request,
    Start,
)
from burnish.core.errors import BurnishError
from burnish.core.trace import Trace

if TYPE_CHECKING:
    from burnish import _native
    from burnish.cc.machine_code import Generated


class Trials(ABC):
    """Trials for one module, and the best of them; a search that fails costs only its budget."""

    def __init__(self, module: bytes, command: tuple[str, ...], optimizer: Optimizer, guard: Guard) -> None:
        self.module = module  # before any pass
        self.command = command  # of clang -cc1; code is generated with its options
        self.optimizer, self.guard = optimizer, guard
        self.own: bytes | None = None  # clang's object after the level's own passes; None: not known
        self.level: Attempt | None = None  # the module after the level's own passes, if known
        self.level_bitcode: bytes | None = None  # the same as the search has it; see Request
        self.best: Attempt | None = None
        self.objective = DEFAULT_OBJECTIVE  # see Request
        self.reasons: list[str] = []  # why trials did not help
        self.evaluations = self.crashes = 0  # of both searches

    @abstractmethod
    def take(self, attempt: Attempt) -> None:
        """Make the object or program of an attempt, and keep the attempt if it is the best.

        Raises:
            KeptReference: making it fails.
        """

    @abstractmethod
    def generated(self) -> tuple[Attempt, bytes]:
        """Return the module whose machine code is searched, and clang's object of that module.

        The attempt has no decisions on code, even if the best one has.

        Raises:
            KeptReference: the module cannot be made.
        """

    def finish(self, module: _native.Module) -> bool:
        """Change a module after its last pass as the object needs it; return whether it was changed."""
        return False

    def finished(self, found: Attempt) -> Attempt:
        """Return the optimizer's attempt, ready for code generation; called in the optimizer's process."""
        if not isinstance(found, Attempt):
            raise TypeError(f"expected Attempt from the optimizer, got {type(found).__name__}")
        return found

    def try_variants(self, request: Request) -> bool:
        """Take the attempt of a short search; return False if burnish's back end does not make the object."""
        start, forked = self._start(), request.forked()

        def vary() -> Attempt:
            from burnish.cc import variants  # loads LLVM, so only in this process

            return variants.vary(start, forked)

        return self._taken(lambda: self._searched(vary))

    def try_variations(self, request: Request) -> None:
        """Take the attempt of variations at each function, after the best one of a short search."""
        start, forked = self._start(), request.forked()
        trace = self.best.trace if self.best else ()

        def vary() -> Attempt:
            from burnish.cc import variants  # loads LLVM, so only in this process

            return variants.vary_further(start, forked, trace)

        self._taken(lambda: self._searched(vary))

    def try_passes(self, request: Request) -> None:
        """Search for passes with the optimizer, and take the attempt that it returns."""
        with self.trying():
            forked = replace(request.forked(), level_bitcode=self.level_bitcode)
            self.take(self._searched(lambda: self.finished(self.optimizer(self.module, forked))))

    def try_code(self, request: Request) -> None:
        """Search for better machine code of the functions in the module of `generated`."""
        with self.trying():
            module, reference = self.generated()
            known = split_code(self.best.trace)[1] if self.best else ()
            forked = replace(request.forked(), begin=known)

            def decide() -> Attempt:
                from burnish.cc import machine_code  # loads LLVM, so only in this process

                return machine_code.decide(self._generated(module, reference, request), forked)

            found = self._searched(decide)
            self.take(replace(found, trace=(*module.trace, *found.trace)))

    def repeat(self, trace: Trace, request: Request, *, checks: bool = True) -> None:
        """Take the result of an earlier trace, without a search; entries that do not apply are skipped."""
        passes, code = split_code(trace)

        def passed() -> Attempt:
            again = replayed(self.module, request.name, request.level, passes, skip_illegal=True)
            return self.finished(Attempt(again, passes, 0))

        with self.trying():
            if passes:
                self.take(self.guard.step(passed))
            if not code or (passes and not self.best):
                return
            module, reference = self.generated()

            def coded() -> bytes:
                from burnish.cc import machine_code  # loads LLVM, so only in this process

                return machine_code.repeat(self._generated(module, reference, request), request.level, code)

            if (made := self.guard.step(coded)) != reference:
                self.take(replace(module, trace=(*module.trace, BEGIN, *code), code=made))

    def _generated(self, module: Attempt, reference: bytes, request: Request) -> Generated:
        """Return a module and the compiler's object of it, for code generation; loads LLVM."""
        from burnish.cc.machine_code import Generated

        policy = request.options.evict_policy
        known = (module.calls, policy, module.emitted)
        return Generated(module.bitcode, self.module, reference, self.command, self.own, *known)

    def _start(self) -> Start:
        known = self.own, self.level, self.level_bitcode
        return Start(self.module, self.command, self.finish, *known, self.guard.steps)

    def _taken(self, made: Callable[[], Attempt]) -> bool:
        """Take an attempt; return False if code generation is left to clang."""
        with self.trying():
            try:
                self.take(made())
            except LeftToClang:
                return False
        return True

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Record the reason if the trial in the block fails."""
        try:
            yield
        except (KeptReference, BurnishError) as why:
            self.reasons.append(str(why))

    def _searched(self, search: Callable[[], Attempt]) -> Attempt:
        try:
            found = self.guard.search(search)
        except KeptReference as why:
            self._count(why)
            self.level = self.level or why.level
            raise
        self._count(found)
        return found

    def _count(self, search: Attempt | KeptReference) -> None:
        self.evaluations += search.evaluations
        self.crashes += search.crashes
