"""Validation of results; a wrong result is reduced to a minimal reproducer."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from burnish.core.errors import CompilerCrash, CompilerTimeout, IllegalAction, InputError, ReplayError
from burnish.core.program import Program
from burnish.core.reduce import Reduced, reduce_trace
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.validator import (
    BEHAVIOUR,
    CODE_GENERATION,
    CRASH,
    HANG,
    INVALID,
    UNSTABLE,
    Broken,
    Failure,
    Reproducer,
)
from burnish.evaluation.confirm import toolchain
from burnish.evaluation.remeasure import replay
from burnish.evaluation.states import States
from burnish.search.problem import Problem
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits


@dataclass(frozen=True)
class Scrutiny:
    """The effort of a validation."""

    sanitizers: tuple[str, ...] = ()  # some of the task's sanitizers
    reduce_seconds: float = math.inf  # time limit for the reduction of a failing trace
    timeout_seconds: float = 10.0  # time limit for a run of the program
    limits: Limits = Limits()  # of the compiler's processes


@dataclass(frozen=True)
class Validation:
    """The checks of a validation, and its outcome."""

    checks: tuple[str, ...]  # the passed checks, each in words
    failure: Failure | None = None
    reduced: Reduced | None = None  # the reduced trace, which fails in the same way
    reproducer: Reproducer | None = field(default=None, repr=False)
    compared: bool = True  # whether outputs were compared; if not, the program may still be wrong


def validate(
    task: Task,
    program: Program,
    trace: Trace,
    *,
    scrutiny: Scrutiny = Scrutiny(),
    note: Callable[[str], None] = lambda _: None,
) -> Validation:
    """Replay a trace in two new processes, verify the state, and compare the program's behaviour.

    The optimized program runs on all its inputs. Its behaviour must equal the unoptimized program's
    (`Checks.behaviour`) and the inputs' expected outputs. A program that cannot be run is only replayed and
    verified.

    Args:
        task: The trace's task.
        program: The program that the trace is applied to.
        trace: The trace.
        scrutiny: The effort of the validation.
        note: Called with a description of each activity.

    Raises:
        InputError: the trace is illegal, or the unoptimized program does not do what it should.
    """
    note("replaying")
    unstable = None
    checks: tuple[str, ...] = ()
    try:
        session, checks = replay(Problem(task, program, limits=scrutiny.limits), trace)
        session.shutdown()
    except ReplayError as error:
        unstable = Failure(UNSTABLE, str(error))
    except CompilerCrash:  # the oracle repeats the trace and classifies the failure
        pass
    note("running the program unoptimized")
    with Oracle(task, program, limits=scrutiny.limits, timeout_seconds=scrutiny.timeout_seconds) as oracle:
        note("running the optimized program")
        if failure := oracle.check(trace):
            return _reduced(oracle, trace, failure, checks, scrutiny.reduce_seconds, note)
        if not oracle.behaviour:
            why = "the program has no workload" if task.checks.behaviour else "the task does not run programs"
            return Validation((*checks, f"outputs were not compared: {why}"), unstable, compared=False)
        inputs = f"{oracle.behaviour.inputs} input{'s' if oracle.behaviour.inputs > 1 else ''}"
        checks += (f"{oracle.behaviour.same} the unoptimized program on {inputs}",)
        if unstable or not scrutiny.sanitizers:
            return Validation(checks, unstable)
        note("running under sanitizers")
        return _sanitized(oracle, trace, scrutiny.sanitizers, checks)


def check_sanitizers(task: Task, names: tuple[str, ...]) -> None:
    """Check that a task has the named sanitizers.

    Raises:
        InputError: the task lacks one.
    """
    known = task.checks.validator().sanitizers
    for name in names:
        if name not in known:
            raise InputError(
                f"no sanitizer named {name!r}; known: {', '.join(known)}"
                if known
                else f"--sanitize {name}: {task.id} has no sanitizers"
            )


def _sanitized(oracle: Oracle, trace: Trace, names: tuple[str, ...], checks: tuple[str, ...]) -> Validation:
    """Run the task's check for errors that change no output and are not in the program itself."""
    check = oracle.task.checks.validator().check_state
    if not check:
        return Validation(checks)
    with oracle.unoptimized() as unoptimized:
        session, seconds = oracle.states.session(trace), oracle.limits.deadline_seconds
        found = check(oracle.program, unoptimized, session, names, seconds)
    if isinstance(found, Failure):
        return Validation(checks, found)
    return Validation((*checks, found) if found else checks)


def _reduced(
    oracle: Oracle,
    trace: Trace,
    failure: Failure,
    checks: tuple[str, ...],
    seconds: float,
    note: Callable[[str], None],
) -> Validation:
    """Reduce the trace to one that fails in the same way, and make a reproducer without burnish."""

    def still_fails(part: Trace) -> bool:
        note(f"reducing: {len(part)} of {len(trace)} steps")
        found = oracle.check(part)
        return found is not None and found.kind == failure.kind

    reduced = reduce_trace(trace, still_fails, seconds=seconds)
    least = oracle.check(reduced.trace)
    assert least
    note("writing a reproducer")
    broken = Broken(
        oracle.program,
        reduced.trace,
        least,
        oracle.expected,
        oracle.states.session,
        toolchain(oracle.task),
        oracle.limits.deadline_seconds,
    )
    reproduce = oracle.task.checks.validator().reproduce
    reproducer = reproduce(broken) if reproduce else trace_folder(oracle.task, broken)
    return Validation(checks, failure, reduced, reproducer)


NOTE = "the task cannot show this without burnish; the folder has the program and the trace"


def trace_folder(task: Task, broken: Broken) -> Reproducer:
    """Return a folder with the failing program and trace, and the task's command line for them, if any."""
    program = broken.program
    name = f"program/{Path(program.name).name or 'program'}"
    files = {name: program.content, "trace.txt": "".join(f"{text}\n" for text in broken.trace).encode()}
    files |= _inputs(program)
    command = _command(task, broken.trace)
    files["README.md"] = _readme(task, broken, command, name).encode()
    return Reproducer(files, command, note=NOTE)


def _command(task: Task, trace: Trace) -> str:
    try:
        return task.checks.commandline(trace) if task.checks.commandline else ""
    except InputError:  # an entry has no equivalent in the other tool
        return ""


def _inputs(program: Program) -> dict[str, bytes]:
    workload = program.workload
    if not workload:
        return {}
    files = {f"files/{name}": content for name, content in workload.files}
    files |= {f"objects/{i}.o": content for i, content in enumerate(workload.objects)}
    return files | {f"stdin/{i}": run.stdin for i, run in enumerate(workload.runs) if run.stdin}


def _readme(task: Task, broken: Broken, command: str, name: str) -> str:
    lines = [f"# {broken.failure}", ""]
    lines += [f"The program is {name}, as {task.id} opens it, after these actions:", ""]
    lines += [f"    {text}" for text in broken.trace or ["(none)"]]
    lines += [""]
    if command:
        lines += ["Without burnish, this does the same:", "", f"    {command}", ""]
    else:
        lines += ["The task has no command that does the same without burnish.", ""]
    if broken.program.workload:
        lines += ["The program is run with these arguments and inputs, in a folder with files/:", ""]
        for number, run in enumerate(broken.program.workload.runs):
            given = f" < stdin/{number}" if run.stdin else ""
            lines += [f"    program {shlex.join(run.arguments)}".rstrip() + given]
        link = shlex.join(broken.program.workload.link_arguments)
        lines += ["", *([f"The program is linked with objects/ and {link}.", ""] if link else [])]
    versions = ", ".join(f"{name} {version}" for name, version in broken.versions.items())
    return "\n".join([*lines, f"Versions: {versions}.", ""])


class Oracle:
    """Checks traces against the unoptimized program's behaviour."""

    def __init__(
        self, task: Task, program: Program, *, limits: Limits = Limits(), timeout_seconds: float = 10.0
    ) -> None:
        """Run the unoptimized program twice, if it can be run.

        Args:
            task: The task of the traces.
            program: The program that the traces are applied to.
            limits: The limits of the compiler's processes.
            timeout_seconds: The time limit of a run of the program.

        Raises:
            InputError: the unoptimized program does not do what it should, or its two runs differ.
        """
        self.task = task
        self.program = program
        self.limits = limits
        behaviour = task.checks.behaviour(program) if task.checks.behaviour else None
        self.behaviour = behaviour and behaviour.within(timeout_seconds)
        self.expected: Any = self._run_unoptimized()
        self.states = States(task, program, limits=limits)
        self._known: dict[str, Failure | None] = {}  # by digest

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.states.close()

    def check(self, trace: Trace) -> Failure | None:
        """Return the failure of a trace, or None.

        An illegal trace is not a failure, because it is not a trace of this program.
        """
        try:
            state = self.states.digests(trace)[-1]
            if state not in self._known:
                self._known[state] = self._look(self.states.session(trace))
            return self._known[state]
        except IllegalAction:
            return None
        except CompilerTimeout as error:
            return Failure(HANG, str(error))
        except CompilerCrash as error:
            return Failure(CRASH, str(error))

    @contextlib.contextmanager
    def unoptimized(self) -> Iterator[Sandbox]:
        """Open the program in the task's first baseline, for a `with` statement."""
        session = Sandbox(self.task.baseline(self.task.unoptimized), self.program, limits=self.limits)
        try:
            yield session
        finally:
            session.shutdown()

    def _look(self, session: Session) -> Failure | None:
        try:
            session.verify()
        except CompilerTimeout:
            raise
        except CompilerCrash as error:
            return Failure(INVALID, str(error))
        if not self.behaviour:
            return None
        try:
            seen = self.behaviour.run(session, self.expected)
        except (InputError, CompilerCrash) as error:
            return Failure(CODE_GENERATION, str(error))
        found = self.behaviour.differences(seen, self.expected)
        return Failure(BEHAVIOUR, "; ".join(found), seen) if found else None

    def _run_unoptimized(self) -> Any:
        """Return the unoptimized program's behaviour, after checking that two runs are equal."""
        if not self.behaviour:
            return None
        with self.unoptimized() as session:
            expected, again = self.behaviour.run(session), self.behaviour.run(session)
        for seen, what in ((expected, "gives wrong results"), (again, "gives other results in a second run")):
            if found := self.behaviour.differences(seen, expected):
                name = self.task.label(self.task.unoptimized)
                raise InputError(f"{self.program.name}: at {name} the program {what}: {'; '.join(found)}")
        return expected
