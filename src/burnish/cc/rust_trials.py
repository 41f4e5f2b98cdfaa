"""Trials for an object of rustc: by burnish's back end, from rustc's bitcode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from burnish.cc.foreign import OF_COMPILERS, ForeignTrials
from burnish.cc.isolation import Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.linked import ELF
from burnish.cc.requests import KeptReference, Optimizer

_MANGLED = ("_ZN", "_R")  # beginnings of the names of Rust's own functions


@dataclass(frozen=True)
class Bitcode:
    """The module of one object of rustc, as bitcode."""

    front: bytes = field(repr=False)  # before the passes that are searched
    after: bytes = field(repr=False)  # after rustc's passes
    is_linked: bool  # into a program at once: a linker finds what is missing

    def encode(self, reference: bytes) -> bytes:
        """Return the fields as the memory keeps them; what trials do not read for this object is left out."""
        after = b"" if reference.startswith(ELF) else self.after
        return b"%d %d\n%b%b" % (self.is_linked, len(self.front), self.front, after)

    @classmethod
    def decode(cls, encoded: bytes) -> Bitcode:
        """Return the fields that `encode` has written."""
        fields, _, rest = encoded.partition(b"\n")
        is_linked, size = map(int, fields.split())
        return cls(rest[:size], rest[size:], bool(is_linked))


class RustTrials(ForeignTrials):
    """Trials whose reference is rustc's object; the first one is clang's pipeline alone."""

    def __init__(
        self, made: Bitcode, front: bytes, job: ClangJob, reference: Path, optimizer: Optimizer, guard: Guard
    ) -> None:
        """Initialize; `front` is the module that is searched."""
        super().__init__(front, job, reference, optimizer, guard)
        self.after = made.after  # of an ELF object that is searched once more: b"", and not read
        called = _called(made.front)
        self.known = {name for name in called if made.is_linked or name.startswith(_MANGLED)}
        self.is_elf = reference.read_bytes().startswith(ELF)

    def clangs_module(self) -> bytes:
        """See ObjectTrials."""
        return self.after

    def adapted(self, code: bytes) -> bytes:
        """See BackEndTrials; only ELF objects have a note about the stack."""
        return super().adapted(code) if self.is_elf else code

    def new_calls(self) -> list[str]:
        """See ForeignTrials; the code may call what its source calls, even if rustc drops these calls.

        In an archive this is so for functions of Rust only: a call of another may be there to be dropped.
        """
        if self.is_elf or not self.best:
            return [name for name in super().new_calls() if name not in self.known]
        return sorted(_called(self.best.bitcode) - _called(self.after) - OF_COMPILERS - self.known)

    def check_fit(self) -> None:
        """See ForeignTrials."""
        if self.is_elf:
            super().check_fit()
        elif new := self.new_calls():
            raise KeptReference(f"the code calls {new[0]!r}, which rustc's does not")


def forbidding(bitcode: bytes, not_called: Sequence[str]) -> bytes:
    """Return a module in which passes do not replace code by calls of these functions."""
    from burnish import _native

    module = _native.Module(bitcode, "front")
    module.forbid_builtins(not_called)
    return module.bitcode()


def _called(bitcode: bytes) -> frozenset[str]:
    """Return the symbols that a module leaves undefined."""
    from burnish import _native

    undefined = 2, 3
    return frozenset(symbol.name for symbol in _native.unit_symbols(bitcode) if symbol.kind in undefined)
