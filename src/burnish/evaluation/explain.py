"""Explanation of traces: idle entries, minimal traces, and the contribution of each entry."""

from __future__ import annotations

import math
from collections.abc import Callable

from burnish.core.errors import CompilerCrash, IllegalAction
from burnish.core.program import Program
from burnish.core.reduce import Reduced, reduce_trace
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.walk import after
from burnish.evaluation.states import States
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits


def idle_steps(
    task: Task,
    program: Program,
    trace: Trace,
    digests: tuple[str, ...],
    *,
    limits: Limits = Limits(),
) -> tuple[bool, ...]:
    """Return for each entry whether it is idle: bool[len(trace)].

    An idle entry has equal states before and after it, and a replay without it (and without the other idle
    entries) reaches the same end. A pass's own report of no change is not evidence.

    Args:
        task: The trace's task.
        program: The program that the trace was applied to.
        trace: The trace.
        digests: The digests of the program and of the state after each entry, [1 + len(trace)].
        limits: The limits of the worker process.
    """
    same = {i for i in range(len(trace)) if digests[i] == digests[i + 1]}
    if not same:
        return (False,) * len(trace)
    root = Sandbox(task.open, program, limits=limits)
    try:
        if _replayed(root, _without(trace, same)) != digests[-1]:
            same = {i for i in same if _replayed(root, _without(trace, {i})) == digests[-1]}
    finally:
        root.shutdown()
    return tuple(i in same for i in range(len(trace)))


def minimize_trace(
    states: States,
    trace: Trace,
    objective: str,
    *,
    seconds: float = math.inf,
    stopped: Callable[[], bool] = lambda: False,
) -> Reduced:
    """Leave out entries that do not lower the cost, until leaving out any single entry raises the cost.

    Args:
        states: The program's states.
        trace: The trace to shorten.
        objective: The cost that the shorter trace must reach.
        seconds: After this time no further trace is tried.
        stopped: Returns whether to end early, too.

    Raises:
        CompilerCrash, IllegalAction, UnknownName: the trace cannot be applied.
    """
    states.digests(trace)
    cost = states.cost(trace, objective)
    return reduce_trace(
        trace, lambda part: states.cost(part, objective) <= cost, seconds=seconds, stopped=stopped
    )


def contributions(states: States, trace: Trace, objective: str) -> tuple[float, ...]:
    """Return each entry's contribution: the cost increase without it; infinity if the rest then fails.

    Contributions do not add up to the trace's gain. An effect that either of two passes can have counts for
    neither; an effect that needs both passes counts for both.
    """
    cost = states.cost(trace, objective)
    return tuple(states.cost(_without(trace, {i}), objective) - cost for i in range(len(trace)))


def _replayed(root: Sandbox, trace: Trace) -> str:
    """Return the digest of the state after a trace; "" if the trace fails."""
    try:
        with after(root, trace) as session:
            return session.digest()
    except (CompilerCrash, IllegalAction):
        return ""


def _without(trace: Trace, positions: set[int]) -> Trace:
    return tuple(text for i, text in enumerate(trace) if i not in positions)
