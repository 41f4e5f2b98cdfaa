"""Is a result right? Where it is not: what is the least that shows it?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from burnish.core.errors import CompilerCrash, ReplayError
from burnish.core.program import Program, Workload
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.worker import Limits
from burnish.evaluation.oracle import Failure, Oracle
from burnish.evaluation.reduce import Reduced, reduce_trace
from burnish.evaluation.remeasure import replay
from burnish.evaluation.reproduce import Reproducer, reproduce
from burnish.evaluation.sanitize import check_module
from burnish.execution import RunLimits

UNSTABLE = "the trace does not lead to the same state twice"
MEMORY = "AddressSanitizer finds a memory error"


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
    sanitize_address: bool = False,
    reduce_seconds: float = math.inf,
    limits: Limits = Limits(),
    run_limits: RunLimits = RunLimits(),
    note: Callable[[str], None] = lambda _: None,
) -> Validation:
    """Replay a trace in two new processes, verify the module, and compare what the program does.

    The optimized program runs on all inputs of its workload; what it prints and its exit code must be
    those of the unoptimized program, and what the inputs expect. A program without a workload is
    replayed and verified only.

    Args:
        task: What the trace is of.
        program: What it is applied to.
        trace: Its entries.
        sanitize_address: Also run the optimized program under AddressSanitizer.
        reduce_seconds: How long to look for a shorter trace that fails.
        limits: Of the compiler's processes.
        run_limits: Of the program's.
        note: Told what happens now.

    Raises:
        InputError: the trace cannot be applied; the program does not do unoptimized what it should.
    """
    note("replaying")
    unstable = None
    checks: tuple[str, ...] = ()
    try:
        checks = _replayed(task, program, trace, limits)
    except ReplayError as error:
        unstable = Failure(UNSTABLE, str(error))
    except CompilerCrash:  # of which the oracle has more to say
        pass
    note("running the program unoptimized")
    with Oracle(task, program, limits=limits, run_limits=run_limits) as oracle:
        note("running the optimized program")
        failure = oracle.check(trace)
        if failure:
            return _reduced(oracle, trace, failure, checks, reduce_seconds, note)
        if not program.workload:
            checks += ("outputs were not compared: the program has no workload",)
            return Validation(checks, unstable, compared=False)
        inputs = len(program.workload.runs)
        checks += (f"prints the same as unoptimized on {inputs} input{'s' if inputs > 1 else ''}",)
        if unstable or not sanitize_address:
            return Validation(checks, unstable)
        note("running under AddressSanitizer")
        return _sanitized(oracle, trace, program.workload, checks)


def _sanitized(oracle: Oracle, trace: Trace, workload: Workload, checks: tuple[str, ...]) -> Validation:
    """Look for memory errors that the passes made: those of the unoptimized program are its own."""
    if found := check_module(oracle.unoptimized, workload, oracle.limits):
        return Validation((*checks, f"unoptimized, the program already has errors: {found[0]}"))
    if found := check_module(oracle.bitcode(trace), workload, oracle.limits):
        return Validation(checks, Failure(MEMORY, "; ".join(found)))
    return Validation((*checks, "AddressSanitizer finds nothing in the optimized program"))


def _replayed(task: Task, program: Program, trace: Trace, limits: Limits) -> tuple[str, ...]:
    session, checks = replay(task, program, trace, limits=limits)
    session.shutdown()
    return checks


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
        note(f"reducing: {len(part)} of {len(trace)} passes")
        found = oracle.check(part)
        return found is not None and found.kind == failure.kind

    reduced = reduce_trace(trace, still_fails, seconds=seconds)
    least = oracle.check(reduced.trace)
    assert least
    note("writing a reproducer")
    return Validation(checks, failure, reduced, reproduce(oracle, reduced.trace, least))
