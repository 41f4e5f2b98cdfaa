"""Loading programs from files, and linking several into one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from burnish.core.argument_checks import check_class, names_in
from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.llvm.toolchain import IR_SUFFIXES, LEVELS, compile_anywhere


def load_program(
    path: Path | str, arguments: Sequence[str] = (), *, level: str = "Oz", directory: Path | None = None
) -> Program:
    """Read a C, C++, .ll or .bc file as a program of the LLVM tasks; its digest is the same in any folder.

    Args:
        path: The file; a relative one starts at `directory`.
        arguments: clang's options for C and C++.
        level: The optimization level of clang's front end; it has no effect on .ll and .bc.
        directory: The working directory of clang.

    Raises:
        InputError: the file does not exist, is of another kind, or clang rejects it.
    """
    check_class("path", path, str | os.PathLike, "a file's name")  # type: ignore[arg-type]
    if level not in LEVELS:
        raise UnknownName.among("level", level, LEVELS)
    arguments = names_in("arguments", arguments)
    path = Path(path)
    if path.suffix not in IR_SUFFIXES:
        return Program(str(path), "llvm", compile_anywhere(path, arguments, level=level, directory=directory))
    try:
        return Program(str(path), "llvm", (directory or Path()).joinpath(path).read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def import_programs(programs: Sequence[Program]) -> list[Program]:
    """Return programs as a ThinLTO link leaves them before its passes, with functions of each other.

    LLVM makes summaries of the programs and decides by them which functions to import; these become
    `available_externally`. If one program defines `main`, other symbols that no other program uses become
    internal.

    Raises:
        InputError: two programs define one symbol, or LLVM has no back end for their machine.
    """
    from burnish import _native

    try:
        parts = [_native.Module(program.content, program.name) for program in programs]
        contents = _native.Module.thin_link(parts)
    except _native.InputError as error:
        raise InputError(str(error)) from None
    return [
        Program(program.name, "llvm", content) for program, content in zip(programs, contents, strict=True)
    ]


def link_programs(programs: Sequence[Program]) -> Program:
    """Link several programs into one; if one defines `main`, all other symbols become internal."""
    from burnish import _native

    try:
        parts = [_native.Module(program.content, program.name) for program in programs]
        whole = _native.Module.link(parts, internalize=True)
    except _native.InputError as error:
        raise InputError(str(error)) from None
    return Program("+".join(program.name for program in programs), "llvm", whole.bitcode())
