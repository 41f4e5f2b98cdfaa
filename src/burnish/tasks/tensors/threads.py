"""Threads that share the iterations of a loop: their number as a setting, and their code in object files."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from burnish.core.errors import CompileError, InputError
from burnish.core.task import Setting

MOST_THREADS = 1024
THREADS = Setting(
    "threads", "threads that share parallel loops; default: 1, which computes them in order", metavar="N"
)
POOL = "burnish_parallel"  # the function that calls each iteration of a loop: see thread_pool.h
SOURCE = Path(__file__).with_name("thread_pool.c")


def threads_of(given: Mapping[str, str]) -> int:
    """Return the number of threads in a task's settings.

    Raises:
        InputError: the text is not a number from 1 to MOST_THREADS.
    """
    text = given.get(THREADS.name, "1")
    if not text.isdecimal() or int(text) not in range(1, MOST_THREADS + 1):
        raise InputError(f"threads is {text!r}; expected 1 to {MOST_THREADS}")
    return int(text)


def object_with_threads(code: bytes) -> bytes:
    """Return an object file that has its threads: they need the C library alone.

    Raises:
        CompileError: the linker fails; its output is in the message.
        MissingTool: clang is not installed.
    """
    from burnish.llvm.toolchain import find_tool

    with tempfile.TemporaryDirectory() as folder:
        given, pool, made = (Path(folder) / name for name in ("code.o", "pool.o", "made.o"))
        given.write_bytes(code)
        pool.write_bytes(_pool())
        _run([str(find_tool("ld.lld")), "-r", str(given), str(pool), "-o", str(made)])
        return made.read_bytes()


@cache
def _pool() -> bytes:
    """Return the object file of the pool; its function is hidden from other shared objects."""
    from burnish.llvm.toolchain import find_tool

    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "pool.o"
        flags = ("-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread", "-c")
        _run([str(find_tool("clang")), *flags, str(SOURCE), "-o", str(made)])
        return made.read_bytes()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"the threads of an object file cannot be built\n{done.stderr.strip()}")
