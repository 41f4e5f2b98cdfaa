"""The programs of tests/data, compiled once in a test run."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

from burnish import _native
from burnish.core.program import Program, Workload
from burnish.llvm.programs import load_program
from burnish.llvm.run import link

DATA = Path(__file__).parent / "data"

C_FILES = (
    "hash_table.c",
    "matrix.c",
    "strings.c",
    "recursion.c",
    "machine.c",
    "floating.c",
    "structs.c",
    "dispatch.c",
)
FILES = (*C_FILES, "classes.cpp")


@functools.cache
def program(name: str, level: str = "Oz") -> Program:
    """Return what clang's front end makes of a file of tests/data at a level."""
    loaded = load_program(DATA / name, level=level)
    return Program(name, loaded.language, loaded.content)


def workload_of(source: Program) -> Workload:
    """Return how to run a program that can be run."""
    assert source.workload
    return source.workload


def printed(module: _native.Module, source: Program, folder: Path, level: str = "O1") -> bytes:
    """Build a module with its program's workload; return what it prints."""
    executable = link(module.emit_object(level), workload_of(source), folder / "program")
    return subprocess.run([executable], check=True, capture_output=True, timeout=20).stdout
