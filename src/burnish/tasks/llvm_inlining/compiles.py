"""Compiles under answers: those that go on from question to question, and those that are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import CompilerCrash

Row = NDArray[np.int64]
"""Of a question: int64[43], see observations.ROW."""


@dataclass(frozen=True)
class InlinedModule:
    """What answers lead to; no one changes it, so all who have these answers share it."""

    module: _native.Module
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
    """One compile under answers, on its way; see native/inlining.h.

    Raises:
        CompilerCrash: LLVM gives up; from all methods.
    """

    def __init__(self, module: _native.Module, level: str, answers: Mapping[str, bool]) -> None:
        self._inlining = _native.Inlining(module, level, dict(answers))
        self._places: dict[str, int] = {}

    @property
    def sites(self) -> Iterable[str]:
        """Where LLVM asked so far, in its order."""
        return self._places

    def __contains__(self, site: str) -> bool:
        return site in self._places

    @property
    def finished(self) -> bool:
        """Whether it is done."""
        return self._inlining.finished

    def ask(self) -> str:
        """Go on to the first question without an answer, and return its site; "" where there is none."""
        return next(reversed(self._places)) if self._go(self._inlining.ask) else ""

    def reach(self, site: str) -> bool:
        """Go on to a question without an answer; what comes before it is the heuristic's to answer."""
        return self._go(lambda: self._inlining.reach(site))

    def waits_at(self, site: str) -> bool:
        """Return whether a question is the one that waits for its answer."""
        return self._inlining.waits and self._places[site] == len(self._places) - 1

    def answer(self, inlined: bool) -> None:
        """Answer the question that waits."""
        self._inlining.answer(inlined)

    def row(self, site: str) -> Row:
        """Return the row of a question that was asked."""
        found: Row = self._inlining.rows(self._places[site])[0]
        return found

    def finish(self) -> InlinedModule:
        """Go on to the end; the heuristic answers what nobody did. This is the last that is asked of it."""
        self._go(self._inlining.finish)
        return InlinedModule(self._inlining.take(), self._places, self._inlining.rows())

    def _go(self, go: Callable[[], object]) -> bool:
        try:
            there = bool(go())
        except _native.FatalError as error:
            raise CompilerCrash(f"clang's pipeline: {error}") from None
        for site in self._inlining.sites(len(self._places)):
            self._places[site] = len(self._places)
        return there
