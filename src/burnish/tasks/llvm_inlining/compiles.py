"""Compiles with answers for the inliner: running ones, which stop at questions, and finished ones."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import CompilerCrash
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.llvm.modules.origin import Options
from burnish.llvm.modules.session import ModuleSession
from burnish.llvm.run.stopwatch import Stopwatch

KEPT_INSTRUCTIONS = 1_000_000  # IR instructions of all kept modules of a program, by their size when opened
FEWEST, MOST = 4, 64  # limits on the number of kept modules, whatever their size

Row = NDArray[np.int64]
"""A question's row: int64[43], see observations.ROW."""
Answers = frozenset[tuple[str, bool]]
"""Pairs of a site and whether its call is inlined."""


@dataclass(frozen=True)
class InlinedModule:
    """The result of a finished compile; it is never changed, so sessions with the same answers share it."""

    state: ModuleSession  # measures and observes the module
    places: dict[str, int]  # site -> index of its row, in LLVM's order
    rows: NDArray[np.int64]  # [N, 43]

    @property
    def sites(self) -> Iterable[str]:
        """The sites of the questions, in LLVM's order."""
        return self.places

    def __contains__(self, site: str) -> bool:
        return site in self.places

    def row(self, site: str) -> Row:
        """Return the row of a question."""
        found: Row = self.rows[self.places[site]]
        return found


class RunningCompile:
    """A running compile with answers; see native/inlining.h. If LLVM fails, methods raise CompilerCrash."""

    def __init__(self, module: _native.Module, level: str, answers: Mapping[str, bool]) -> None:
        self._inlining: _native.Inlining | None = _native.Inlining(module, level, dict(answers))
        self._places: dict[str, int] = {}

    @property
    def sites(self) -> Iterable[str]:
        """The sites of the questions so far, in LLVM's order."""
        return self._places

    def __contains__(self, site: str) -> bool:
        return site in self._places

    @property
    def dropped(self) -> bool:
        """True if the compile was dropped or is finished; then no other method works."""
        return self._inlining is None

    def drop(self) -> None:
        """Stop the compile and free it."""
        self._inlining = None

    def ask(self) -> str:
        """Continue to the first question without an answer, and return its site; "" if there is none."""
        return next(reversed(self._places)) if self._go(self._going.ask) else ""

    def reach(self, site: str) -> bool:
        """Continue to an open question, and return whether it comes; the heuristic answers those before."""
        return self._go(lambda: self._going.reach(site))

    def waits_at(self, site: str) -> bool:
        """Return whether the compile has stopped at this question."""
        return self._going.waits and self._places[site] == len(self._places) - 1

    def answer(self, inlined: bool) -> None:
        """Answer the question at which the compile has stopped."""
        self._going.answer(inlined)

    def answer_by(self, network: _native.Network) -> None:
        """Use a network to answer all open questions; the second of its two outputs is for inlining."""
        self._going.answer_by(network)

    def row(self, site: str) -> Row:
        """Return the row of a question that was asked."""
        found: Row = self._going.rows(self._places[site])[0]
        return found

    def finish(self) -> tuple[_native.Module, dict[str, int], NDArray[np.int64]]:
        """Continue to the end and return (module, places, rows); the heuristic answers open questions."""
        self._go(self._going.finish)
        found = self._going.take(), self._places, self._going.rows()
        self.drop()
        return found

    @property
    def _going(self) -> _native.Inlining:
        assert self._inlining is not None, "the compile was given up"
        return self._inlining

    def _go(self, go: Callable[[], object]) -> bool:
        try:
            there = bool(go())
        except _native.FatalError as error:
            self.drop()
            raise CompilerCrash(f"clang's pipeline: {error}") from None
        for site in self._going.sites(len(self._places)):
            self._places[site] = len(self._places)
        return there


class Compiles:
    """The compiles of a program, shared by all its sessions.

    The numbers of finished modules and of running compiles are limited. A result that is no longer kept is
    compiled again on the next request.
    """

    def __init__(self, program: Program, opened: ModuleSession, stopwatch: Stopwatch | None) -> None:
        """Initialize the compiles of a program; `opened` has its module before the pipeline."""
        self.program = program
        self._opened = opened
        self._stopwatch = stopwatch
        size = max(1, opened.module.instruction_count())
        self._most = min(MOST, max(FEWEST, KEPT_INSTRUCTIONS // size))
        self._finished: Recent[Answers, InlinedModule] = Recent(self._most)
        self._running: deque[weakref.ref[RunningCompile]] = deque()

    @property
    def opened(self) -> _native.Module:
        """The module before the pipeline, with the level's attributes."""
        return self._opened.module

    def known(self, answers: Answers) -> InlinedModule | None:
        """Return the kept result for some answers; None if there is none."""
        return self._finished.get(answers)

    def start(self, answers: Mapping[str, bool]) -> RunningCompile:
        """Start a compile; if too many are running, drop the oldest ones."""
        alive = [found for found in self._running if (one := found()) and not one.dropped]
        for found in alive[: max(0, len(alive) - self._most + 1)]:
            if one := found():
                one.drop()
        compile_ = RunningCompile(self.opened, self._opened.options.level, answers)
        self._running = deque([*alive[-self._most + 1 :], weakref.ref(compile_)])
        return compile_

    def finish(self, compile_: RunningCompile, answers: Answers) -> InlinedModule:
        """Finish a compile, and keep the result."""
        self._finished.put(answers, found := self._result(compile_))
        return found

    def finish_by(self, network: _native.Network, answers: dict[str, bool]) -> InlinedModule:
        """Compile once while a network answers open questions; add them to `answers`, and keep the result."""
        compile_ = self.start(answers)
        compile_.answer_by(network)
        found = self._result(compile_)
        answers |= {
            site: bool(inlined)
            for site, inlined in zip(found.places, found.rows[:, -1], strict=True)
            if site not in answers
        }
        self._finished.put(frozenset(answers.items()), found)
        return found

    @property
    def options(self) -> Options:
        """The options of the opened module."""
        return self._opened.options

    def _result(self, compile_: RunningCompile) -> InlinedModule:
        module, places, rows = compile_.finish()
        opened = self._opened
        state = ModuleSession(module, opened.options, opened.origin, self._stopwatch)
        return InlinedModule(state, places, rows)
