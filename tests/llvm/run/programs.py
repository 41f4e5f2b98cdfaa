"""tests/data/behave.c, built in several ways, once in a test run."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from burnish.core.program import Run, Workload
from burnish.llvm.run import link
from burnish.llvm.toolchain import bitcode_to_object
from tests.sources import program

NOTHING = Workload(())


@functools.cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that lasts for the test run."""
    return tempfile.TemporaryDirectory()


@functools.cache
def built(name: str = "behave.c") -> Path:
    """Return the executable of a file of tests/data."""
    executable = Path(folder().name, name).with_suffix("")
    return link(bitcode_to_object(program(name).content, level="O1"), NOTHING, executable)


def run(*words: str, stdin: bytes = b"", expected: bytes | None = None) -> Run:
    """Return a run of behave.c that is named as its arguments."""
    return Run(" ".join(words), words, stdin, expected)
