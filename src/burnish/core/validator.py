"""Behaviour of programs, failures of traces, and a task's own checks and reproducers."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
"""The kinds of failures of every task. A reduced trace has the same kind as the whole one."""


class Behaviour(ABC):
    """Runs a program in a state and compares its outputs: printed bytes, or arrays within a tolerance."""

    inputs = 1  # number of inputs of a run
    same = "does the same as"  # phrase for two runs that do not differ, in messages
    unoptimized: Any = None  # the unoptimized program's output, if it is known without a run

    def within(self, seconds: float) -> Behaviour:
        """Return this behaviour with a time limit for each run; by default itself, without a limit."""
        return self

    @abstractmethod
    def run(self, session: Session, expected: Any = None) -> Any:
        """Run the program in a session's state, and return its output.

        Args:
            session: The state.
            expected: The unoptimized program's output, if known; its run time limits this run's.

        Raises:
            InputError: the program cannot be built.
        """

    @abstractmethod
    def differences(self, seen: Any, expected: Any) -> list[str]:
        """Return in words the differences of two runs beyond the tolerance; [] if there are none."""


@dataclass(frozen=True)
class Failure:
    """The failure of a trace."""

    kind: str
    detail: str
    seen: Any = field(default=None, repr=False)  # the wrong value of Behaviour.run, if that is the failure

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True)
class Broken:
    """A failing trace, and the material for a reproducer."""

    program: Program
    trace: Trace  # 1-minimal for this failure, if the time was enough
    failure: Failure
    expected: Any = field(repr=False)  # Behaviour.run's value for the unoptimized program; None if not run
    session: Callable[[Trace], Session] = field(repr=False)  # returns the session after a part of the trace
    versions: Mapping[str, str] = field(repr=False)  # of burnish, the task's tools and Python
    deadline_seconds: float = 60.0  # of one call of a compiler


@dataclass(frozen=True)
class Reproducer:
    """The files of a folder that reproduces a failure without burnish; README.md is among the files."""

    files: dict[str, bytes] = field(repr=False)
    command: str = ""  # shows the failure; "" if only burnish does
    sites: tuple[str, ...] = ()  # the sites that the command has to process; () for all
    note: str = ""  # printed in place of a command

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
    """A task's own functions for validating traces, beside `Task.checks.behaviour`: functions of a module."""

    sanitizers: tuple[str, ...] = ()  # the names that `burnish validate --sanitize` takes
    check_program: CheckProgram | None = None
    """(program, its source and arguments, sanitizers) to (errors of the program itself, notes)."""
    check_state: CheckState | None = None
    """(program, unoptimized, optimized, sanitizers, deadline in seconds) to a failure or the checks made."""
    reproduce: Callable[[Broken], Reproducer] | None = None
    """Makes a reproducer; by default, a folder with the program, the trace and its command line."""
