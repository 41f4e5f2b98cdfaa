"""Trials whose objects are by burnish's back end, for machines that clang's package has none for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cc.isolation import Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.linked import ELF
from burnish.cc.object_trials import ObjectTrials, Symbol
from burnish.cc.requests import Attempt, Emitted, Optimizer, Request
from burnish.core.trace import Trace

if TYPE_CHECKING:
    from burnish import _native

_DEFINED, _WEAK = (0, 1, 4), 1  # kinds of symbols, as native/units.h has them


@dataclass(frozen=True)
class Own:
    """A module, and what burnish makes of it without a search."""

    front: bytes = field(repr=False)  # bitcode before any pass
    level: Attempt  # of the passes of its level, with the object
    repeated: Attempt | None = None  # of the trace that the command's last object had; None: not made yet

    @property
    def code(self) -> bytes:
        """The object."""
        assert self.level.emitted
        return self.level.emitted.code


class BackEndTrials(ObjectTrials):
    """Trials whose code generation is burnish's.

    Attributes:
        code: The best attempt's object, as the back end wrote it.
        is_elf: False if objects have another format, whose symbols are read from their modules.
    """

    code = b""
    is_elf = True

    def take(self, attempt: Attempt) -> None:
        """See Trials."""

        code = attempt.code
        if code is None:
            attempt = replace(attempt, emitted=self._emitted(attempt.bitcode))
            assert attempt.emitted
            code = attempt.emitted.code
        attempt = replace(attempt, code=self.adapted(code))
        super().take(attempt)
        if self.best is attempt:
            self.code = code

    def generate(self, bitcode: bytes) -> bytes:
        """See ObjectTrials."""
        return self._emitted(bitcode).code

    def _emitted(self, bitcode: bytes) -> Emitted:
        def emitted() -> Emitted:
            from burnish.cc.back_end import emit_described

            return emit_described(bitcode, self.job)

        return self.guard.step(emitted)

    def adapted(self, code: bytes) -> bytes:
        """Return an object as it is written to the file."""
        return code

    def symbols(self) -> tuple[frozenset[Symbol], frozenset[Symbol]]:
        """See ObjectTrials; the symbols of other objects than ELF's are those of their modules."""
        if self.is_elf or not self.best:
            return super().symbols()
        return _offered(self.clangs_module()), _offered(self.best.bitcode)

    def groups(self) -> tuple[dict[str, int], dict[str, int]]:
        """See ObjectTrials."""
        if self.is_elf or not self.best:
            return super().groups()
        before, after = (self.clangs_module(), self.reference), (self.best.bitcode, self.better)
        return _group_bytes(*before), _group_bytes(*after)


class OwnTrials(BackEndTrials):
    """Trials whose reference is burnish's own, too: the object after the passes of its level."""

    def __init__(self, own: Own, job: ClangJob, reference: Path, optimizer: Optimizer, guard: Guard) -> None:
        super().__init__(own.front, job, reference, optimizer, guard)
        self.level = own.level
        self.after = self.level_bitcode = own.level.bitcode
        self.is_elf = own.code.startswith(ELF)
        self.known = own.repeated

    def repeat(self, trace: Trace, request: Request, *, checks: bool = True) -> None:
        """See Trials; the attempt may have been made with the reference."""
        if self.known:
            with self.trying():
                self.take(self.known)
        else:
            super().repeat(trace, request, checks=checks)

    def finish(self, module: _native.Module) -> bool:
        """See Trials; only linkers of ELF objects drop a group with its local functions."""
        return self.is_elf and super().finish(module)

    def clangs_module(self) -> bytes:
        """See ObjectTrials."""
        return self.after


def _offered(bitcode: bytes) -> frozenset[Symbol]:
    """Return the symbols of a module as offered_symbols does those of an ELF object."""
    from burnish import _native

    return frozenset(
        (symbol.name, symbol.kind == _WEAK, symbol.visibility)
        for symbol in _native.unit_symbols(bitcode)
        if symbol.kind in _DEFINED and not (symbol.kind == _WEAK and symbol.group)
    )


def _group_bytes(bitcode: bytes, file: Path) -> dict[str, int]:
    """Return the loaded bytes of the functions of each COMDAT group of a module; `file` is its object."""
    from burnish import _native

    loaded = dict(_native.object_sizes(file.read_bytes(), True).functions_loaded)
    found: dict[str, int] = {}
    for symbol in _native.unit_symbols(bitcode):
        if symbol.group and symbol.kind in _DEFINED:
            found[symbol.group] = found.get(symbol.group, 0) + loaded.get(symbol.name, 0)
    return found
