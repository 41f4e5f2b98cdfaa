"""The table of what many traces cost on many programs: it grows both ways, and is kept."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace, join_trace
from burnish.files import LineFile, json_object, read_json_lines
from burnish.learning.portfolio.measure import measure_reference, measure_traces
from burnish.learning.portfolio.seconds import relative_seconds
from burnish.learning.training.collect import LIMITS
from burnish.policies.sequence_values import features_of
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Worker


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
        return log_ratios(self.references[:, at, None], self.costs[:, :, at])

    def relative_seconds(self) -> NDArray[np.float64]:
        """Return what trying the traces takes, in units of what the reference takes: [P, K]."""
        return relative_seconds(self.traces, self.seconds.T, self.reference_seconds).T

    def select(self, columns: Sequence[int]) -> CostTable:
        """Return the table of some of the traces."""
        return replace(
            self,
            traces=tuple(self.traces[i] for i in columns),
            costs=self.costs[:, columns],
            seconds=self.seconds[:, columns],
        )


def log_ratios(references: NDArray[np.float64], costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(reference / cost): above 0 is better, -inf where the compiler did not survive."""
    with np.errstate(divide="ignore"):
        ratios: NDArray[np.float64] = np.log(references / costs.clip(min=1e-9))
    return ratios


@dataclass(frozen=True)
class TableSetup:
    """What a table has of each program, and how many are measured at a time."""

    task: Task  # whose traces
    objectives: Sequence[str]
    observations: Sequence[str]  # arrays that are observed before anything is applied: the features
    jobs: int = 1  # programs at a time, a process each


def fill(
    setup: TableSetup,
    programs: Sequence[Program],
    traces: Sequence[Trace],
    state: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> CostTable:
    """Apply traces to programs and measure; what the state file has is not measured again.

    The table is of all programs, also of earlier calls, on which every one of the traces was measured.

    Args:
        setup: What to measure.
        programs: Those that cannot be opened are left out.
        traces: The columns.
        state: JSON lines: what is known of a program, or what some traces cost on it.
        progress: Told how many programs are done, and of how many.

    Raises:
        InputError: the state file is of other objectives or observations.
    """
    head = {"objectives": list(setup.objectives), "observations": list(setup.observations)}
    known = read_json_lines(state, json_object, appended=True) or [head]
    if known[0] != head:
        had, expected = json.dumps(known[0]), json.dumps(head)
        raise InputError(f"{state}: a table of {had}, expected {expected}; choose another file")
    rows: dict[str, _Row] = {}
    for line in known[1:]:
        _add(rows, line)
    file = LineFile(state, keep=len(known) > 1)
    if len(known) == 1:
        file.append(json.dumps(head))
    names = [join_trace(trace) for trace in traces]
    lock = Lock()
    done = itertools.count(1)

    def one(program: Program) -> None:
        known = rows.get(program.name)
        missing = [
            trace for trace, name in zip(traces, names, strict=True) if not known or name not in known.costs
        ]
        if missing:
            try:
                lines = _measured(setup, program, missing, opened=known is not None)
            except (CompilerCrash, ProgramError):
                return
            with lock:
                for line in lines:
                    file.append(json.dumps(line))
                    _add(rows, line)
        if progress:
            progress(next(done), len(programs))

    with closing(file), ThreadPoolExecutor(setup.jobs) as pool:
        list(pool.map(one, programs))
    whole = {name: row for name, row in rows.items() if all(trace in row.costs for trace in names)}
    return _table(whole, traces, names, setup.objectives)


@dataclass
class _Row:
    """What is known of a program."""

    features: list[float]
    references: list[float]
    reference_seconds: float
    costs: dict[str, tuple[list[float | None], float]]  # by trace: the costs, and the seconds it took


def _add(rows: dict[str, _Row], line: dict[str, Any]) -> None:
    if "features" in line:
        seconds = line["reference_seconds"]
        rows[line["program"]] = _Row(line["features"], line["references"], seconds, {})
    else:
        rows[line["program"]].costs |= line["costs"]


def _table(
    rows: Mapping[str, _Row], traces: Sequence[Trace], names: Sequence[str], objectives: Sequence[str]
) -> CostTable:
    measured = [[row.costs[name] for name in names] for row in rows.values()]
    costs = np.array([[costs for costs, _ in row] for row in measured], dtype=np.float64)  # None becomes nan
    return CostTable(
        programs=tuple(rows),
        traces=tuple(traces),
        objectives=tuple(objectives),
        references=np.array([row.references for row in rows.values()], dtype=np.float64),
        costs=np.where(np.isnan(costs), math.inf, costs),
        seconds=np.array([[seconds for _, seconds in row] for row in measured]),
        reference_seconds=np.array([row.reference_seconds for row in rows.values()]),
        features=np.array([row.features for row in rows.values()]),
    )


def _measured(
    setup: TableSetup, program: Program, traces: Sequence[Trace], *, opened: bool
) -> list[dict[str, Any]]:
    """Return the lines that a state file gets: what is known of the program, unless it was, and the costs."""
    lines: list[dict[str, Any]] = []
    task, objectives = setup.task, setup.objectives
    with closing(Worker(LIMITS)) as worker:
        if not opened:
            features = features_of(Sandbox(task.open, program, worker=worker), setup.observations)
            references, seconds = measure_reference(task, program, objectives, worker)
            lines.append(
                {
                    "program": program.name,
                    "features": features.tolist(),
                    "references": references,
                    "reference_seconds": seconds,
                }
            )
        measured = measure_traces(task, program, traces, objectives, worker)
    costs = {
        join_trace(trace): (cost or (None,) * len(objectives), round(seconds, 5))
        for trace, (cost, seconds) in zip(traces, measured, strict=True)
    }
    return [*lines, {"program": program.name, "costs": costs}]
