"""The modules that representations are of: one that is open, or a program that is opened for it."""

from __future__ import annotations

from burnish import _native
from burnish.core.errors import ProgramError
from burnish.core.program import Program


def module_of(program: Program | _native.Module) -> _native.Module:
    """Return the module itself, or a program read as one.

    Raises:
        ProgramError: the program is no LLVM module of this machine.
    """
    if isinstance(program, _native.Module):
        return program
    try:
        return _native.Module(program.content, program.name)
    except _native.InputError as error:
        raise ProgramError(f"{program.name}: {error}") from None
