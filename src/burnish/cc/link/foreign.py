"""Trials for a program of another machine: code by burnish's back end, links by the GNU compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from burnish.cc.foreign import (
    OF_COMPILERS,
    check_abi,
    has_stack_note,
    in_gnus_place,
    separated,
    without_stack_note,
)
from burnish.cc.link.merging import Merged
from burnish.cc.link.program_trials import ProgramTrials
from burnish.cc.outcomes import Sizes
from burnish.cc.requests import Attempt, Request

_RESERVED = "_"  # begins names of the compiler's library and of a C library's own parts


class ForeignProgramTrials(ProgramTrials):
    """Trials whose reference is the program of another compiler; the first one is clang's pipeline alone.

    Attributes:
        refused: Functions of libraries that the last attempt called, and the compiler's program does not.
    """

    def __init__(self, merged: Merged, before: Sizes) -> None:
        super().__init__(merged, before)
        self.refused: list[str] = []

    def try_level(self) -> Sizes | None:
        """See ProgramTrials; passes that replaced code by calls of such functions run again without them."""
        sizes = super().try_level()
        if not self.refused:
            return sizes
        module, names = self.module, self.refused
        self.module = self.guard.step(lambda: in_gnus_place(module, names))
        self.refused, self.reasons = [], []
        return super().try_level()

    def with_code(self, level: Attempt) -> Attempt:
        """See ProgramTrials; `generate` separates the module first."""
        return level

    def try_variants(self, request: Request) -> bool:
        """Leave variants: their code would not be that of a separated module."""
        return False

    def generated(self) -> tuple[Attempt, bytes]:
        """See ProgramTrials."""
        best, _ = super().generated()

        def again() -> tuple[Attempt, bytes]:
            ready = replace(best, bitcode=separated(best.bitcode, self.command))
            return ready, self._emit(ready.bitcode)

        return self.guard.step(again)

    def generate(self, bitcode: bytes, output: Path) -> None:
        """See ProgramTrials; clang's package has no back end for the machine."""
        self.place(self.guard.step(lambda: self._emit(separated(bitcode, self.command))), output)

    def place(self, code: bytes, output: Path) -> None:
        """See ProgramTrials."""
        for reference in self.merged.objects:
            check_abi(reference, code)
        noted = any(has_stack_note(reference) for reference in self.merged.objects)
        super().place(code if noted else without_stack_note(code), output)

    def unexpected(self, new: set[str]) -> set[str]:
        """See ProgramTrials; parts of the compiler's library may be new, and OF_COMPILERS."""
        found = {name for name in new - OF_COMPILERS if not name.startswith(_RESERVED)}
        self.refused = sorted(found)
        return found

    def is_better(self, sizes: Sizes) -> bool:
        """See ProgramTrials; initialised data takes a microcontroller's memory twice."""
        return sizes.data_bytes <= self.before.data_bytes and super().is_better(sizes)

    def _emit(self, bitcode: bytes) -> bytes:
        from burnish.cc.back_end import emit

        return emit(bitcode, self.pattern)
