"""What many traces cost on many programs: a table that is filled file by file, and kept."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.worker import Limits, Worker

LIMITS = Limits(deadline_seconds=20)


@dataclass(frozen=True)
class CostTable:
    """Costs of traces on programs, and what is known of the programs.

    Attributes:
        programs: Their names.
        traces: The columns.
        objectives: The last axis.
        references: float64[programs, objectives], what the task's reference costs.
        costs: float64[programs, traces, objectives]; infinite where the compiler did not survive.
        seconds: float64[programs, traces], of applying the trace.
        reference_seconds: float64[programs], of applying the reference.
        features: float64[programs, features], of the programs as they are opened.
    """

    programs: tuple[str, ...]
    traces: tuple[Trace, ...]
    objectives: tuple[str, ...]
    references: NDArray[np.float64]
    costs: NDArray[np.float64]
    seconds: NDArray[np.float64]
    reference_seconds: NDArray[np.float64]
    features: NDArray[np.float64]

    def log_ratios(self, objective: str) -> NDArray[np.float64]:
        """Return log(reference / cost), float64[programs, traces]: above 0 is better, -inf a crash."""
        at = self.objectives.index(objective)
        with np.errstate(divide="ignore"):
            ratios: NDArray[np.float64] = np.log(self.references[:, at, None] / self.costs[:, :, at])
        return ratios


def fill(
    task: Task,
    programs: Sequence[Program],
    traces: Sequence[Trace],
    state: Path,
    *,
    objectives: Sequence[str],
    observations: Sequence[str],
    jobs: int,
    progress: Callable[[int, int], None] | None = None,
) -> CostTable:
    """Apply every trace to every program and measure; rows that the state file has are not made again.

    Args:
        task: Whose traces.
        programs: Those that cannot be opened are left out.
        traces: The columns; a state file of other traces is refused.
        state: JSON lines: the traces, then a row for each program.
        objectives: What to measure.
        observations: Arrays that are observed before anything is applied: the features, side by side.
        jobs: Programs at a time, a process each.
        progress: Told how many rows there are, of how many.

    Raises:
        InputError: the state file has other columns.
    """
    head = {"traces": [list(trace) for trace in traces], "objectives": list(objectives)}
    if not state.exists():
        state.write_text(json.dumps(head) + "\n")
    first, *lines = state.read_text().splitlines()
    if json.loads(first) != head:
        raise InputError(f"{state}: a table of other traces or objectives; remove it, or choose another file")
    rows: dict[str, dict[str, Any]] = {row["program"]: row for row in map(json.loads, lines)}
    lock = Lock()

    def one(number: int) -> None:
        program = programs[number]
        if program.name not in rows:
            try:
                made = _row(task, program, traces, objectives, observations)
            except (CompilerCrash, ProgramError):
                return
            with lock:
                rows[program.name] = made
                with state.open("a") as file:
                    file.write(json.dumps(made) + "\n")
        if progress:
            progress(len(rows), len(programs))

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, range(len(programs))))
    return _table(list(rows.values()), traces, objectives)


def _table(rows: list[dict[str, Any]], traces: Sequence[Trace], objectives: Sequence[str]) -> CostTable:
    costs = np.array([row["costs"] for row in rows], dtype=np.float64)  # None, a crash, becomes nan
    return CostTable(
        programs=tuple(row["program"] for row in rows),
        traces=tuple(traces),
        objectives=tuple(objectives),
        references=np.array([row["references"] for row in rows], dtype=np.float64),
        costs=np.where(np.isnan(costs), math.inf, costs),
        seconds=np.array([row["seconds"] for row in rows]),
        reference_seconds=np.array([row["reference_seconds"] for row in rows]),
        features=np.array([row["features"] for row in rows]),
    )


def _row(
    task: Task,
    program: Program,
    traces: Sequence[Trace],
    objectives: Sequence[str],
    observations: Sequence[str],
) -> dict[str, Any]:
    worker = Worker(LIMITS)
    names = tuple(objectives)
    try:
        features = worker.call(_features, task.open, program, tuple(observations))
        references, reference_seconds = worker.call(_first, task.open, program, [task.starts[0]], names)
        measured: list[tuple[Sequence[float | None], float]] = []
        while len(measured) < len(traces):
            try:
                worker.send(_measure, task.open, program, list(traces[len(measured) :]), names)
                while (answer := worker.receive())[0]:
                    measured.append(answer[1])
            except CompilerCrash:
                measured.append(((None,) * len(names), 0.0))
    finally:
        worker.close()
    return {
        "program": program.name,
        "features": features,
        "references": references,
        "reference_seconds": reference_seconds,
        "costs": [costs for costs, _ in measured],
        "seconds": [round(seconds, 5) for _, seconds in measured],
    }


def _features(
    opener: Callable[[Program], Session], program: Program, observations: Sequence[str]
) -> list[float]:
    """Return the observations side by side."""
    session = opener(program)
    return [float(value) for name in observations for value in np.ravel(np.asarray(session.observe(name)))]


def _first(
    opener: Callable[[Program], Session], program: Program, traces: Sequence[Trace], objectives: Sequence[str]
) -> tuple[tuple[float, ...], float]:
    """Measure one trace."""
    return next(_measure(opener, program, traces, objectives))


def _measure(
    opener: Callable[[Program], Session], program: Program, traces: Sequence[Trace], objectives: Sequence[str]
) -> Iterator[tuple[tuple[float, ...], float]]:
    """Yield what each trace costs by each objective, and the seconds that it took."""
    root = opener(program)
    for trace in traces:
        begin = time.perf_counter()
        session = root.fork()
        session.replay(trace)
        seconds = time.perf_counter() - begin
        yield tuple(session.measure(objective) for objective in objectives), seconds
        session.close()
