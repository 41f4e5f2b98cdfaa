"""tests/data/behave.c, built in several ways, once in a test run."""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from burnish.core.program import Run, Workload
from burnish.llvm.run import Execution, link, stopwatch
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


class FakeRuns:
    """Runs that take 1 second, then 2, ..., or what a list says; and what they say of themselves."""

    def __init__(self, seconds: Iterable[float] = ()) -> None:
        self.seconds = iter(seconds or itertools.count(1))
        self.made = 0
        self.output, self.killed = b"right", ""

    def __call__(self, *_: Any, counters: Sequence[str] = (), **others: Any) -> Execution:
        self.made += 1
        seconds = float(next(self.seconds))
        counted = dict.fromkeys(counters, int(1e9 * seconds))
        return Execution(self.output, b"", 0, self.killed, seconds, seconds, counted)

    def replace_real_ones(self, monkeypatch: pytest.MonkeyPatch, inputs: int) -> None:
        """Let every stopwatch use these runs, and an unoptimized program that prints "right"."""
        right = (Execution(b"right", b"", 0, "", 1.0, 1.0),) * inputs
        monkeypatch.setattr(stopwatch, "run_all", lambda *_, **__: right)
        monkeypatch.setattr(stopwatch, "execute", self)
