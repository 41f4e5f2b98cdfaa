"""Replaying and measuring results in processes that have not seen the search."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from burnish.core.errors import ReplayError
from burnish.core.result import Result
from burnish.core.trace import Trace
from burnish.evaluation.gain import measure_gain
from burnish.evaluation.measurable import measure_all
from burnish.evaluation.outputs import Outputs
from burnish.evaluation.timing import Comparer, Comparison, Effort
from burnish.search.problem import Problem
from burnish.workers.sandbox import Sandbox


@dataclass(frozen=True)
class Measured:
    """A replayed result."""

    costs: Mapping[str, float]  # every exact objective that the program has, and the result's own
    trace: Trace  # perhaps shorter than what was replayed
    state: str  # Session.digest()
    checks: tuple[str, ...]
    comparison: Comparison | None = None  # with the baseline, where the objective is noisy
    baseline: float = math.nan  # what the baseline cost in that comparison


def replay(problem: Problem, trace: Trace) -> tuple[Sandbox, tuple[str, ...]]:
    """Replay a trace in two new processes and check the state: (session, the checks in words).

    Entries that changed nothing are left out of the second replay; where that leads to the same state, the
    session is that one, and its trace the shorter.

    Raises:
        ReplayError: the two processes do not reach the same state.
        CompilerCrash: the compiler does not survive the trace, or its checker rejects the state.
    """
    first = problem.open()
    shorter, state = first.replay(trace), first.digest()
    first.shutdown()
    # Forks of one process have their memory at the same addresses, by which a compiler must not go.
    elsewhere = replace(problem, limits=replace(problem.limits, begin="elsewhere"))
    for candidate in dict.fromkeys((shorter, trace)):
        session = elsewhere.open()
        session.replay(candidate)
        if session.digest() == state:
            break
        session.shutdown()
    else:
        raise ReplayError(f"{problem.program.name}: two replays of the same trace differ: {trace}")
    checks = ["replayed in two new processes: the same state"]
    if checker := session.verify():
        checks.append(f"{checker} accepts it")
    return session, tuple(checks)


def replay_result(problem: Problem, result: Result) -> Sandbox:
    """Replay what a result stands for: its trace, or the baseline that was kept.

    One new process is enough where it reaches the result's own state.

    Raises:
        ReplayError: two processes do not reach the same state.
        CompilerCrash: the compiler does not survive it, or its checker rejects the state.
    """
    if result.state:
        session = problem.open()
        session.replay(result.trace)
        if session.digest() == result.state:
            session.verify()
            return session
        session.shutdown()
    return _replayed(problem, result)[0]


def remeasure(problem: Problem, found: Result, against: str, *, effort: Effort | None = Effort()) -> Measured:
    """Replay a result, run its program on all inputs where it has any, and measure it anew.

    Args:
        problem: What the result is of.
        found: Its trace, or the baseline that it kept; where nothing was measured, the program as it is.
        against: The baseline that a noisy objective is compared with.
        effort: How thoroughly to compare a noisy objective; None leaves that out.

    Raises:
        ReplayError: two processes do not reach the same state.
        CompilerCrash: the compiler does not survive it, its checker rejects the state, or the program does
            something else than unoptimized.
    """
    task = problem.task
    goal = task.objective(found.objective)
    if math.isinf(found.cost):  # the budget was too short for a single measurement
        found = replace(found, trace=())
    with contextlib.ExitStack() as stack:
        session, checks = _replayed(problem, found)
        stack.callback(session.shutdown)
        costs = measure_all(session, task.exact_objectives, goal.name)
        state, trace = session.digest(), tuple(session.trace)
        checks += (Outputs(problem).check(session),)
        if not goal.noisy:
            return Measured(costs | {goal.name: session.measure(goal.name)}, trace, state, checks)
        if effort is None:
            return Measured(costs, trace, state, checks)
        other = problem.open_baseline(against)
        stack.callback(other.shutdown)
        gain = measure_gain(task, problem.program, goal, other, session, comparer=Comparer(effort))
    costs[goal.name] = gain.candidate
    return Measured(costs, trace, state, checks, gain.comparison, gain.baseline)


def _replayed(problem: Problem, found: Result) -> tuple[Sandbox, tuple[str, ...]]:
    return replay(problem.from_baseline(found.fallback) if found.fallback else problem, found.trace)
