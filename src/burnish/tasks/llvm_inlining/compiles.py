"""Compiles under answers: those that go on from question to question, and those that are done."""

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
from burnish.llvm.run.stopwatch import Stopwatch
from burnish.tasks.llvm_passes.origin import Options
from burnish.tasks.llvm_passes.session import ModuleSession

KEPT_INSTRUCTIONS = 1_000_000  # in all that is kept of a program, each module as large as opened
FEWEST, MOST = 4, 64  # modules, whatever their size

Row = NDArray[np.int64]
"""Of a question: int64[43], see observations.ROW."""
Answers = frozenset[tuple[str, bool]]
"""Sites, and whether they are inlined."""


@dataclass(frozen=True)
class InlinedModule:
    """What answers lead to; no one changes it, so all who have these answers share it."""

    state: ModuleSession  # that measures and shows it
    places: dict[str, int]  # site -> its row, in LLVM's order
    rows: NDArray[np.int64]  # [N, 43]

    @property
    def sites(self) -> Iterable[str]:
        """Where LLVM asked, in its order."""
        return self.places

    def __contains__(self, site: str) -> bool:
        return site in self.places

    def row(self, site: str) -> Row:
        """Return the row of a question."""
        found: Row = self.rows[self.places[site]]
        return found


class RunningCompile:
    """One compile under answers, on its way; see native/inlining.h. Where LLVM gives up: CompilerCrash."""

    def __init__(self, module: _native.Module, level: str, answers: Mapping[str, bool]) -> None:
        self._inlining: _native.Inlining | None = _native.Inlining(module, level, dict(answers))
        self._places: dict[str, int] = {}

    @property
    def sites(self) -> Iterable[str]:
        """Where LLVM asked so far, in its order."""
        return self._places

    def __contains__(self, site: str) -> bool:
        return site in self._places

    @property
    def dropped(self) -> bool:
        """Whether it was given up, or is finished: nothing more can be asked of it."""
        return self._inlining is None

    def drop(self) -> None:
        """Give it up."""
        self._inlining = None

    def ask(self) -> str:
        """Go on to the first question without an answer, and return its site; "" where there is none."""
        return next(reversed(self._places)) if self._go(self._going.ask) else ""

    def reach(self, site: str) -> bool:
        """Go on to a question without an answer; what comes before it is the heuristic's to answer."""
        return self._go(lambda: self._going.reach(site))

    def waits_at(self, site: str) -> bool:
        """Return whether a question is the one that waits for its answer."""
        return self._going.waits and self._places[site] == len(self._places) - 1

    def answer(self, inlined: bool) -> None:
        """Answer the question that waits."""
        self._going.answer(inlined)

    def answer_by(self, network: _native.Network) -> None:
        """Have a network answer what nobody has; of its two outputs, the second is to inline."""
        self._going.answer_by(network)

    def row(self, site: str) -> Row:
        """Return the row of a question that was asked."""
        found: Row = self._going.rows(self._places[site])[0]
        return found

    def finish(self) -> tuple[_native.Module, dict[str, int], NDArray[np.int64]]:
        """Go on to the end, where the heuristic answers what nobody did: the module, places and rows."""
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

    Only so many modules are kept, finished ones and on their way: what is gone is compiled anew when it is
    asked for.
    """

    def __init__(self, program: Program, opened: ModuleSession, stopwatch: Stopwatch | None) -> None:
        """Take the program, with the module as it is before the pipeline."""
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
        """Return what answers led to before, if it is still there."""
        return self._finished.get(answers)

    def start(self, answers: Mapping[str, bool]) -> RunningCompile:
        """Begin a compile; where too many wait, the one that began first is given up."""
        alive = [found for found in self._running if (one := found()) and not one.dropped]
        for found in alive[: max(0, len(alive) - self._most + 1)]:
            if one := found():
                one.drop()
        compile_ = RunningCompile(self.opened, self._opened.options.level, answers)
        self._running = deque([*alive[-self._most + 1 :], weakref.ref(compile_)])
        return compile_

    def finish(self, compile_: RunningCompile, answers: Answers) -> InlinedModule:
        """Have a compile go on to its end, and keep the result."""
        self._finished.put(answers, found := self._result(compile_))
        return found

    def finish_by(self, network: _native.Network, answers: dict[str, bool]) -> InlinedModule:
        """Have a network answer the rest, which is added to `answers`, in one compile; keep the result."""
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
        """How the module was opened."""
        return self._opened.options

    def _result(self, compile_: RunningCompile) -> InlinedModule:
        module, places, rows = compile_.finish()
        opened = self._opened
        state = ModuleSession(module, opened.options, opened.origin, self._stopwatch)
        return InlinedModule(state, places, rows)
