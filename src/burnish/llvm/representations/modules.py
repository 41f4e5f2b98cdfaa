"""The input of representations: an open module, or a program to open as one."""

from __future__ import annotations

from burnish import _native
from burnish.core.errors import ProgramError
from burnish.core.program import Program


def module_of(program: Program | _native.Module) -> _native.Module:
    """Return an open module as it is, or open a program as a module.

    Raises:
        ProgramError: the program is not an LLVM module for this machine.
    """
    if isinstance(program, _native.Module):
        return program
    try:
        return _native.Module(program.content, program.name)
    except _native.InputError as error:
        raise ProgramError(f"{program.name}: {error}") from None
