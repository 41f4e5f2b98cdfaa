"""Measurement of the costs of traces on a program, in a worker process; failures are recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from burnish.core.errors import CompilerCrash
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.walk import after
from burnish.learning.training.collect import LIMITS
from burnish.workers.worker import Worker

CostsAndSeconds = tuple[tuple[float, ...] | None, float]
"""A trace's cost by each objective, or None if it fails; and the seconds of applying it."""


def measure_reference(
    task: Task, program: Program, objectives: Sequence[str], worker: Worker
) -> tuple[tuple[float, ...], float]:
    """Return the reference's cost by each objective, and the seconds of applying it.

    Raises:
        ProgramError: the program cannot be opened.
        CompilerCrash: the compiler crashes under the reference.
    """
    opener = task.open if task.initial_traces else task.baseline(task.reference)
    call = _first, opener, program, [task.first_trace], tuple(objectives)
    worker.call(*call)  # warms caches
    found: tuple[tuple[float, ...], float] = worker.call(*call)
    return found


def measure_traces(
    task: Task, program: Program, traces: Sequence[Trace], objectives: Sequence[str], worker: Worker
) -> list[CostsAndSeconds]:
    """Measure traces one after the other; a trace that crashes the compiler takes the time limit.

    Raises:
        ProgramError: the program cannot be opened.
    """
    measured: list[CostsAndSeconds] = []
    while len(measured) < len(traces):
        try:
            worker.send(_measure, task.open, program, list(traces[len(measured) :]), tuple(objectives))
            while (answer := worker.receive())[0]:
                measured.append(answer[1])
        except CompilerCrash:
            measured.append((None, LIMITS.deadline_seconds))
    return measured


def _first(
    opener: Callable[[Program], Session], program: Program, traces: Sequence[Trace], objectives: Sequence[str]
) -> tuple[tuple[float, ...], float]:
    """Measure the first trace."""
    return next(_measure(opener, program, traces, objectives))


def _measure(
    opener: Callable[[Program], Session], program: Program, traces: Sequence[Trace], objectives: Sequence[str]
) -> Iterator[tuple[tuple[float, ...], float]]:
    """Yield each trace's cost by each objective, and the seconds of applying it."""
    root = opener(program)
    for trace in traces:
        begin = time.perf_counter()
        with after(root, trace, skip_illegal=True) as session:
            seconds = time.perf_counter() - begin
            yield tuple(session.measure(objective) for objective in objectives), seconds
