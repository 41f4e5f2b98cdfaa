"""How a user's own program is run: --run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.program import Program, Run, Workload
from burnish.toolchain import CXX_SUFFIXES

WORD = "--run="  # in a result's source


def with_runs(program: Program, runs: Sequence[str], files: Sequence[str], clang: Sequence[str]) -> Program:
    """Return a program with a workload, where there are runs.

    Args:
        program: The program.
        runs: The arguments of each, as a shell would read them; `< FILE` at the end is its standard input.
        files: What the program is made from: C++ is linked with its libraries.
        clang: clang's options; those for the linker count.

    Raises:
        InputError: a run cannot be read.
    """
    if not runs:
        return program
    cxx = any(Path(file).suffix in CXX_SUFFIXES for file in files)
    options = ("--driver-mode=g++",) if cxx else ()
    workload = Workload(tuple(map(read_run, runs)), link_arguments=(*options, *_for_the_linker(clang)))
    return replace(program, workload=workload)


def read_run(text: str) -> Run:
    """Read one run: arguments as a shell would read them, and perhaps `< FILE`.

    Raises:
        InputError: it is something else, or the file cannot be read.
    """
    reader = shlex.shlex(text, posix=True, punctuation_chars="<")  # a shell needs no space around it
    reader.whitespace_split, reader.commenters = True, ""
    try:
        words = list(reader)
    except ValueError as error:
        raise InputError(f"--run {text!r}: {error}") from None
    if "<" not in words:
        return Run(text, tuple(words))
    if words[-2:-1] != ["<"]:
        raise InputError(f"--run {text!r}: expected arguments, and perhaps '< FILE' after them")
    try:
        return Run(text, tuple(words[:-2]), stdin=Path(words[-1]).read_bytes())
    except OSError as error:
        raise InputError(f"--run {text!r}: {words[-1]}: {error.strerror}") from None


def _for_the_linker(clang: Sequence[str]) -> list[str]:
    """Return the options that count when an object is linked; the linker runs in another folder."""
    kept = []
    for word in clang:
        if word.startswith("-L"):
            kept.append(f"-L{Path(word[2:]).absolute()}")
        elif word.startswith(("-l", "-Wl,", "-pthread", "-fopenmp")):
            kept.append(word)
    return kept
