"""How a trace fails, and what a task adds to finding out and to showing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace

CRASH, HANG, INVALID, CODE_GENERATION, BEHAVIOUR, UNSTABLE = (
    "the compiler crashes",
    "the compiler does not end",
    "the verifier rejects the module",
    "code generation fails",
    "the program does something else",
    "the trace does not lead to the same state twice",
)
"""The kinds of failures of every task. A reduced trace fails in the same way as the whole one."""


@dataclass(frozen=True)
class Failure:
    """What is wrong with a trace."""

    kind: str
    detail: str
    seen: Any = field(default=None, repr=False)  # what Behaviour.run returned, where that is what is wrong

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True)
class Broken:
    """A trace that fails, and what there is to show that with."""

    program: Program
    trace: Trace  # the shortest that fails so, where the time was enough
    failure: Failure
    expected: Any = field(repr=False)  # what Behaviour.run returned unoptimized; None where it is not run
    session: Callable[[Trace], Session] = field(repr=False)  # where a part of the trace leads: to look at
    versions: Mapping[str, str] = field(repr=False)  # of burnish, the task's tools and Python
    deadline_seconds: float = 60.0  # of one call of a compiler


@dataclass(frozen=True)
class Reproducer:
    """The files of a folder that shows a failure without burnish; README.md is one of them."""

    files: dict[str, bytes] = field(repr=False)
    command: str = ""  # that shows it; "" where only burnish does
    sites: tuple[str, ...] = ()  # what it has to work on; () for all
    note: str = ""  # what is printed in place of a command

    def write(self, folder: Path) -> None:
        """Write the folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            if path.suffix == ".sh":
                path.chmod(0o755)


CheckProgram = Callable[[Program, Sequence[str], Sequence[str]], tuple[list[str], list[str]]]
CheckState = Callable[[Program, Session, Session, Sequence[str], float], Failure | str]


@dataclass(frozen=True)
class Validator:
    """What a task adds to the validation of its traces, beside `Task.behaviour`: functions of a module."""

    sanitizers: tuple[str, ...] = ()  # the names that `burnish validate --sanitize` takes
    check_program: CheckProgram | None = None
    """(program, what it was made of and how, sanitizers) to errors of the program itself, and notes."""
    check_state: CheckState | None = None
    """(program, unoptimized, optimized, sanitizers, deadline in seconds) to a failure or what was checked."""
    reproduce: Callable[[Broken], Reproducer] | None = None
    """Shows a failure without burnish; by default a folder has the program, the trace and its commandline."""
