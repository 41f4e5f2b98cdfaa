"""Is a result right? Where it is not: what is the least that shows it?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from burnish.core.errors import CompilerCrash, InputError, ReplayError
from burnish.core.program import Program
from burnish.core.reduce import Reduced, reduce_trace
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.validator import UNSTABLE, Broken, Failure, Reproducer
from burnish.evaluation.confirm import toolchain
from burnish.evaluation.oracle import Oracle
from burnish.evaluation.remeasure import replay
from burnish.evaluation.trace_folder import trace_folder
from burnish.search.problem import Problem
from burnish.workers.worker import Limits


@dataclass(frozen=True)
class Scrutiny:
    """How closely a trace is looked at."""

    sanitizers: tuple[str, ...] = ()  # some of the task's
    reduce_seconds: float = math.inf  # how long to look for a shorter trace that fails
    timeout_seconds: float = 10.0  # of a run of the program
    limits: Limits = Limits()  # of the compiler's processes


@dataclass(frozen=True)
class Validation:
    """What was checked, and what came of it."""

    checks: tuple[str, ...]  # that were passed, each in words
    failure: Failure | None = None
    reduced: Reduced | None = None  # the shortest part of the trace that fails in the same way
    reproducer: Reproducer | None = field(default=None, repr=False)
    compared: bool = True  # whether the program was run, and what it did compared; else it may still be wrong


def validate(
    task: Task,
    program: Program,
    trace: Trace,
    *,
    scrutiny: Scrutiny = Scrutiny(),
    note: Callable[[str], None] = lambda _: None,
) -> Validation:
    """Replay a trace in two new processes, verify the state, and compare what the program does.

    The optimized program runs on all its inputs; what it does must be what the unoptimized one does
    (`Task.behaviour`), and what the inputs expect. One that cannot be run is replayed and verified only.

    Args:
        task: What the trace is of.
        program: What it is applied to.
        trace: Its entries.
        scrutiny: How closely to look.
        note: Told what happens now.

    Raises:
        InputError: the trace cannot be applied; the program does not do unoptimized what it should.
    """
    note("replaying")
    unstable = None
    checks: tuple[str, ...] = ()
    try:
        session, checks = replay(Problem(task, program, limits=scrutiny.limits), trace)
        session.shutdown()
    except ReplayError as error:
        unstable = Failure(UNSTABLE, str(error))
    except CompilerCrash:  # of which the oracle has more to say
        pass
    note("running the program unoptimized")
    with Oracle(task, program, limits=scrutiny.limits, timeout_seconds=scrutiny.timeout_seconds) as oracle:
        note("running the optimized program")
        if failure := oracle.check(trace):
            return _reduced(oracle, trace, failure, checks, scrutiny.reduce_seconds, note)
        if not oracle.behaviour:
            why = "the program has no workload" if task.behaviour else "the task does not run programs"
            return Validation((*checks, f"outputs were not compared: {why}"), unstable, compared=False)
        inputs = f"{oracle.behaviour.inputs} input{'s' if oracle.behaviour.inputs > 1 else ''}"
        checks += (f"{oracle.behaviour.same} the unoptimized program on {inputs}",)
        if unstable or not scrutiny.sanitizers:
            return Validation(checks, unstable)
        note("running under sanitizers")
        return _sanitized(oracle, trace, scrutiny.sanitizers, checks)


def check_sanitizers(task: Task, names: tuple[str, ...]) -> None:
    """Check that a task has sanitizers.

    Raises:
        InputError: it has not.
    """
    known = task.validator().sanitizers
    for name in names:
        if name not in known:
            raise InputError(
                f"no sanitizer named {name!r}; known: {', '.join(known)}"
                if known
                else f"--sanitize {name}: {task.id} has no sanitizers"
            )


def _sanitized(oracle: Oracle, trace: Trace, names: tuple[str, ...], checks: tuple[str, ...]) -> Validation:
    """Let the task look for errors that change no output, and are not the program's own."""
    check = oracle.task.validator().check_state
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
    """Find the shortest trace that fails in the same way, and what shows it without burnish."""

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
    reproduce = oracle.task.validator().reproduce
    reproducer = reproduce(broken) if reproduce else trace_folder(oracle.task, broken)
    return Validation(checks, failure, reduced, reproducer)
