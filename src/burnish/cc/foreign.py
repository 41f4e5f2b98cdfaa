"""Objects for another machine: by burnish's own back end, and compared with those of a GNU compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from burnish.cc.outcomes import Outcome, level_of_passes
from burnish.cc.own_trials import BackEndTrials
from burnish.cc.requests import Attempt, KeptReference

if TYPE_CHECKING:
    from burnish import _native

OF_COMPILERS = frozenset({"memcpy", "memmove", "memset", "memcmp"})
"""Functions that a compiler may call for what the source writes otherwise; every C library has them."""

# Of the functions of a compiler's library, those that are never there without each other.
_FAMILIES = (
    frozenset({"__aeabi_idiv", "__aeabi_uidiv", "__aeabi_idivmod", "__aeabi_uidivmod"}),
    frozenset({"__aeabi_llsl", "__aeabi_llsr", "__aeabi_lasr"}),
)

_STACK = b".note.GNU-stack"  # a linker that finds it in one object misses it in the others
_RESERVED = "__"  # begins the names of libgcc's functions


class ForeignTrials(BackEndTrials):
    """Trials whose reference is another compiler's object; the first one is clang's pipeline alone."""

    def try_own(self) -> None:
        """Take the object of clang's own passes at the job's level."""
        level = level_of_passes(self.job.level)

        def own() -> tuple[bytes, Attempt]:
            bitcode = after_level(self.module, level)
            return bitcode, self.finished(Attempt(bitcode, (f"clang<{level}>",), 0))

        with self.trying():
            self.level_bitcode, attempt = self.guard.step(own)
            self.take(attempt)
            self.own, self.level = self.code, self.best

    def finish(self, module: _native.Module) -> bool:
        """See Trials."""
        changed = super().finish(module)
        return separate(module, self.job.command) or changed

    def adapted(self, code: bytes) -> bytes:
        """See BackEndTrials."""
        return code if has_stack_note(self.reference.read_bytes()) else without_stack_note(code)

    def generated(self) -> tuple[Attempt, bytes]:
        """See Trials.

        Raises:
            KeptReference: clang's own passes, or the code generation after them, failed.
        """
        if not self.best:
            raise KeptReference("; ".join(self.reasons))
        level = self.level and self.level.emitted
        best, code = self.plain(self.code)
        return replace(best, calls=best.calls or (level.calls if level else None)), code

    def new_calls(self) -> list[str]:
        """Return the functions that the last attempt's code calls, and the reference's does not."""
        if not self.best:
            return []
        new = _new_calls(self.reference.read_bytes(), self.code)
        return [name for name in new if not name.startswith(_RESERVED) or self._is_freestanding]

    @property
    def _is_freestanding(self) -> bool:
        """True if the program may have its own library for compilers: a boot loader, or a kernel."""
        return "-ffreestanding" in self.job.command

    def compared(self, outcome: Outcome, objective: str) -> Outcome:
        """See ObjectTrials; the two objects must also fit into the same program."""
        if self.best:
            self.check_fit()
        return super().compared(outcome, objective)

    def check_fit(self) -> None:
        """Raise KeptReference unless a program of the reference can have the best object in its place."""
        check_abi(self.reference.read_bytes(), self.code)
        if new := self.new_calls():
            raise KeptReference(f"clang's code calls {new[0]!r}, which the compiler's does not")


def in_gnus_place(bitcode: bytes, not_called: Sequence[str] = ()) -> bytes:
    """Return a module whose code calls what a GNU compiler's does: on ARM, memset, not __aeabi_memset.

    Passes do not replace code by calls of the functions in `not_called`.
    """
    from burnish import _native

    module = _native.Module(bitcode, "front")
    module.use_gnu_eabi()
    module.forbid_builtins(not_called)
    return module.bitcode()


def after_level(bitcode: bytes, level: str) -> bytes:
    """Return a module after clang's own passes.

    Without debug information, this is exactly the state of a search after the trace clang<LEVEL>.
    """
    from burnish import _native
    from burnish.llvm.modules.origin import Options, prepare, run_level

    module = _native.Module(bitcode, "own")
    if level == "O0" or module.has_debug_info:
        run_level(module, level)
    else:
        prepare(module, Options(level=level))
        module.run(f"clang<{level}>", level)
    return module.bitcode()


def separate(module: _native.Module, command: Sequence[str]) -> bool:
    """Give the strings of each function a section with -fdata-sections; return whether it is given."""
    if "-fdata-sections" not in command:
        return False
    module.separate_strings()
    return True


def separated(bitcode: bytes, command: Sequence[str]) -> bytes:
    """Return a module after `separate`."""
    from burnish import _native

    module = _native.Module(bitcode, "separated")
    return module.bitcode() if separate(module, command) else bitcode


def has_stack_note(file: bytes) -> bool:
    """Return whether an object says that its stack need not be executable."""
    return _STACK in file


def without_stack_note(file: bytes) -> bytes:
    """Return an object whose note about the stack, a section without content, is marked as unused."""
    from burnish import _native

    changed = bytearray(file)
    for section in _native.elf_sections(file):
        if section.name == _STACK.decode():
            changed[section.flags_at - 4 : section.flags_at] = bytes(4)  # sh_type = SHT_NULL
    return bytes(changed)


def check_abi(reference: bytes, better: bytes) -> None:
    """Raise KeptReference unless two objects can be in one program."""
    from burnish import _native

    agreed = dict(_native.elf_abi(reference))
    for name, value in _native.elf_abi(better):
        if agreed.get(name, value) != value:
            raise KeptReference(f"the objects differ in {name}: {agreed[name]}, clang's has {value}")


def _new_calls(reference: bytes, better: bytes) -> list[str]:
    """Return the undefined symbols that the reference does not have, but for OF_COMPILERS."""
    from burnish import _native

    known = {symbol.name for symbol in _native.elf_symbols(reference)} | OF_COMPILERS
    known.update(*(family for family in _FAMILIES if family & known))
    called = {symbol.name for symbol in _native.elf_symbols(better) if not symbol.is_defined} - known
    return sorted(called)
