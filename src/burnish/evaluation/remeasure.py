"""Replaying and measuring results in new processes, independent of the search."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from burnish.core.errors import Miscompiled, NotMeasurable, ReplayError
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.evaluation.gain import measure_gain
from burnish.evaluation.timing import Comparer, Comparison, Effort
from burnish.search.problem import Problem
from burnish.workers.sandbox import Sandbox


@dataclass(frozen=True)
class Measured:
    """A replayed result."""

    costs: Mapping[str, float]  # every exact objective that the program has, and the result's own
    trace: Trace  # of the last replay; may be shorter than the given trace
    state: str  # Session.digest()
    checks: tuple[str, ...]
    comparison: Comparison | None = None  # with the baseline, if the objective is noisy
    baseline: float = math.nan  # the baseline's cost in that comparison


def replay(problem: Problem, trace: Trace) -> tuple[Sandbox, tuple[str, ...]]:
    """Replay a trace in two new processes and check the state: (session, the checks in words).

    The second replay leaves out entries that changed nothing. If it leads to the same state, its session with
    the shorter trace is returned; otherwise the whole trace is replayed.

    Raises:
        ReplayError: the two processes do not reach the same state.
        CompilerCrash: the compiler crashes or gives up, or its verifier rejects the state.
    """
    first = problem.open()
    shorter, state = first.replay(trace), first.digest()
    first.shutdown()
    # Forks of one process have the same memory addresses; results that depend on addresses must not pass.
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
    """Replay a result: its trace, or the baseline that was kept.

    One new process is enough if it reaches the result's own state.

    Raises:
        ReplayError: two processes do not reach the same state.
        CompilerCrash: the compiler crashes or gives up, or its verifier rejects the state.
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
    """Replay a result, run its program on all inputs, if any, and measure it again.

    Args:
        problem: The result's problem.
        found: The result: its trace, or the baseline that it kept; if nothing was measured, the empty trace.
        against: The baseline that a noisy objective is compared with.
        effort: The effort of a noisy comparison; None leaves the comparison out.

    Raises:
        ReplayError: two processes do not reach the same state.
        CompilerCrash: the compiler crashes or gives up, its verifier rejects the state, or the program's
            outputs differ from the unoptimized program's.
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


class Outputs:
    """The unoptimized program's outputs on its inputs, for comparison.

    The unoptimized program is the task's first baseline; the first `check` builds and runs it.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        make = problem.task.checks.behaviour
        self._behaviour = make(problem.program) if make else None
        self._expected: Any = self._behaviour.unoptimized if self._behaviour else None

    def check(self, session: Session) -> str:
        """Run the program in a session's state; return the comparison in words.

        Raises:
            Miscompiled: the program's outputs differ from the unoptimized program's.
        """
        if self._behaviour is None:
            return "outputs were not compared: the program was not run"
        task = self._problem.task
        if self._expected is None:
            unoptimized = self._problem.open_baseline(task.unoptimized)
            try:
                self._expected = self._behaviour.run(unoptimized)
            finally:
                unoptimized.shutdown()
        seen = self._behaviour.run(session, self._expected)
        name = task.label(task.unoptimized)
        if wrong := self._behaviour.differences(seen, self._expected):
            raise Miscompiled(f"the program behaves differently from {name}: {'; '.join(wrong[:3])}")
        count = self._behaviour.inputs
        return f"outputs equal {name}'s on {count} input{'' if count == 1 else 's'}"


def measure_all(session: Session, objectives: Iterable[str], needed: str) -> dict[str, float]:
    """Measure a state's objectives, except those that its program does not have.

    Args:
        session: The state.
        objectives: The objectives' names.
        needed: The objective that must be measurable, if it is among them.

    Raises:
        NotMeasurable: the program does not have the objective `needed`.
    """
    costs = {}
    for name in objectives:
        try:
            costs[name] = session.measure(name)
        except NotMeasurable:
            if name == needed:
                raise
    return costs
