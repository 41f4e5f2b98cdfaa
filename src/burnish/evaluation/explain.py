"""Which passes of a trace did nothing, which ones matter, and how much."""

from __future__ import annotations

import math

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
    """Return for each entry whether it did nothing: bool[len(trace)].

    The state is the same before and after it, and the trace without it (and without the other idle ones)
    leads to the same end when it is replayed. That a pass reports no change is neither.

    Args:
        task: What the trace is of.
        program: What it was applied to.
        trace: Its entries.
        digests: Of the program and after each entry, [1 + len(trace)].
        limits: Of the worker process.
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


def minimize_trace(states: States, trace: Trace, objective: str, *, seconds: float = math.inf) -> Reduced:
    """Leave out what does not make the program cheaper, until no single entry can go without a loss.

    Args:
        states: Of the program.
        trace: What to shorten.
        objective: The cost that the shorter trace must reach.
        seconds: After this time no further trace is tried.

    Raises:
        CompilerCrash, IllegalAction, UnknownName: the trace cannot be applied.
    """
    states.digests(trace)
    cost = states.cost(trace, objective)
    return reduce_trace(trace, lambda part: states.cost(part, objective) <= cost, seconds=seconds)


def contributions(states: States, trace: Trace, objective: str) -> tuple[float, ...]:
    """Return for each entry how much more the program costs without it; infinity where the rest needs it.

    They do not add up to the trace's gain: what two passes can do either is nobody's, what takes two is
    that of both.
    """
    cost = states.cost(trace, objective)
    return tuple(states.cost(_without(trace, {i}), objective) - cost for i in range(len(trace)))


def _replayed(root: Sandbox, trace: Trace) -> str:
    """Return the digest of where a trace leads; "" where it leads nowhere."""
    try:
        with after(root, trace) as session:
            return session.digest()
    except (CompilerCrash, IllegalAction):
        return ""


def _without(trace: Trace, positions: set[int]) -> Trace:
    return tuple(text for i, text in enumerate(trace) if i not in positions)
