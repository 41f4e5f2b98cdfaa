"""Costs and times of traces on programs, measured in worker processes; a table in a file that can grow.

Times are relative to the reference; `reached` gives the gain that a policy reaches within a time. A noisy
cost in a table is the reference's, divided by a ratio from alternate runs. Otherwise a drift between two
measurements would look like a gain, and of many traces, the luckiest would be chosen.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.decoding import json_object
from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace, join_trace
from burnish.core.walk import after
from burnish.evaluation.gain import measure_gain
from burnish.evaluation.timing import Comparer, Effort
from burnish.files import LineFile, read_json_lines
from burnish.learning.training.collect import LIMITS
from burnish.policies.sequence_values import SequenceValues, features_of, size_of
from burnish.workers.executor import IN_TURN, Executor, program_shard
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Worker

LEAST_TIME = 0.02  # in units of the reference's time: the resolution of the measurement
SHORT = 5.0  # time limit of validation, in units of the reference's time
EFFORT = Effort(repeats=3, confidence=0.75)  # of a noisy cost, in alternate runs with the reference


def relative_seconds(
    traces: Sequence[Trace], seconds: NDArray[np.float64], references: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the times of trying traces, in units of the reference's time: float64[N, P], above 0.

    The reference is tried first and its final state is kept, so a trace that begins with the reference takes
    only the time of its remaining entries.

    Args:
        traces: N traces, the first of which is the reference.
        seconds: float64[N, P], times of applying the traces to P programs.
        references: float64[P], times of applying the reference.
    """
    relative = seconds / references.clip(min=1e-9)
    reference = traces[0]
    for number, trace in enumerate(traces[1:], 1):
        if trace[: len(reference)] == reference:
            relative[number] -= relative[0]
    least: NDArray[np.float64] = relative.clip(min=LEAST_TIME)
    return least


def fit_time(features: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Fit the times of sequences as functions of program size: least squares of logarithms, slopes >= 0.

    Args:
        features: [P, F], features of the programs.
        seconds: [P, K], times of the sequences, in units of the reference's time on that program; above 0.

    Returns:
        [2, K]: SequenceValues.time.
    """
    sizes, logs = size_of(features), np.log(seconds)
    spread = sizes - sizes.mean()
    slopes = (spread @ (logs - logs.mean(axis=0)) / max(float(spread @ spread), 1e-9)).clip(min=0)
    return np.stack([logs.mean(axis=0) - slopes * sizes.mean(), slopes]).astype(np.float32)


def reached(
    policy: SequenceValues,
    weights: Sequence[NDArray[np.float32]],
    expected: Sequence[NDArray[np.float32]],
    gains: NDArray[np.float64],
    seconds: NDArray[np.float64],
) -> float:
    """Return the geometric mean over programs of the best reference / cost that trials within SHORT reach.

    The reference is the first trial.

    Args:
        policy: The policy, which chooses and orders the sequences.
        weights: For each of the P programs, its similarity to the policy's training programs.
        expected: For each of the P programs, the expected times of the K sequences.
        gains: [P, K], log(reference / cost).
        seconds: [P, K], in units of the reference's time.
    """
    best = []
    for shares, guess, gain, took in zip(weights, expected, gains, seconds, strict=True):
        best_gain, left = gain[0], SHORT - took[0]
        trials = policy.trials(shares, guess)
        with suppress(StopIteration):
            index = next(trials)
            while (left := left - took[index]) >= 0:
                best_gain = max(best_gain, gain[index])
                index = trials.send(float(gain[index]))
        best.append(best_gain)
    return float(np.exp(np.mean(best)))


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
    call = _first, _opener(task), program, [task.hints.first_trace], tuple(objectives)
    worker.call(*call)  # warms caches
    found: tuple[tuple[float, ...], float] = worker.call(*call)
    return found


def measure_traces(
    task: Task,
    program: Program,
    traces: Sequence[Trace],
    objectives: Sequence[str],
    worker: Worker,
    references: Sequence[float] | None = None,
) -> list[CostsAndSeconds]:
    """Measure traces one after the other; a trace that crashes the compiler takes the time limit.

    With the reference's costs `references`, noisy costs are measured in alternate runs with the reference.

    Raises:
        ProgramError: the program cannot be opened.
    """
    measured: list[CostsAndSeconds] = []
    while len(measured) < len(traces):
        try:
            left = list(traces[len(measured) :])
            if references and any(task.objective(name).noisy for name in objectives):
                worker.send(_measure_in_turn, task, program, left, tuple(objectives), tuple(references))
            else:
                worker.send(_measure, task.open, program, left, tuple(objectives))
            while (answer := worker.receive())[0]:
                measured.append(answer[1])
        except CompilerCrash:
            measured.append((None, LIMITS.deadline_seconds))
    return measured


def _opener(task: Task) -> Callable[[Program], Session]:
    """Return the opener of a program for its reference: the first trace if there is one."""
    return task.open if task.hints.initial_traces else task.baseline(task.reference)


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


def _measure_in_turn(
    task: Task,
    program: Program,
    traces: Sequence[Trace],
    objectives: Sequence[str],
    references: Sequence[float],
) -> Iterator[tuple[tuple[float, ...], float]]:
    """Measure like `_measure`, but noisy costs in alternate runs with the reference."""
    comparer = Comparer(EFFORT)
    goals = [task.objective(name) for name in objectives]
    with after(_opener(task)(program), task.hints.first_trace, skip_illegal=True) as reference:
        root = task.open(program)
        for trace in traces:
            begin = time.perf_counter()
            with after(root, trace, skip_illegal=True) as session:
                seconds = time.perf_counter() - begin
                costs = [session.measure(goal.name) for goal in goals]  # wrong outputs are found here
                for number, goal in enumerate(goals):
                    if goal.noisy:
                        gain = measure_gain(task, program, goal, reference, session, comparer=comparer)
                        costs[number] = references[number] / gain.comparison.ratio
                yield tuple(costs), seconds


@dataclass(frozen=True)
class CostTable:
    """Costs of traces on programs, with references and features of the programs.

    Attributes:
        programs: Names of the programs.
        traces: The columns.
        objectives: The last axis.
        references: float64[programs, objectives], costs under the task's reference.
        costs: float64[programs, traces, objectives]; infinite if the trace failed.
        seconds: float64[programs, traces], time of applying the trace.
        reference_seconds: float64[programs], time of applying the reference.
        features: float64[programs, features], observed before anything is applied.
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
        """Return log(reference / cost), float64[programs, traces]: above 0 is better, -inf is a crash."""
        at = self.objectives.index(objective)
        return log_ratios(self.references[:, at, None], self.costs[:, :, at])

    def relative_seconds(self) -> NDArray[np.float64]:
        """Return the times of trying the K traces on P programs, in units of the reference's time: [P, K]."""
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
    """Return log(reference / cost): above 0 is better, -inf is a crash."""
    with np.errstate(divide="ignore"):
        ratios: NDArray[np.float64] = np.log(references / costs.clip(min=1e-9))
    return ratios


@dataclass(frozen=True)
class TableSetup:
    """Settings of a table's measurements."""

    task: Task  # the task of the traces
    objectives: Sequence[str]
    observations: Sequence[str]  # arrays observed before anything is applied: the features
    do: Executor = IN_TURN  # measures the programs, a shard each


def fill(
    setup: TableSetup,
    programs: Sequence[Program],
    traces: Sequence[Trace],
    state: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> CostTable:
    """Measure traces on programs, except the pairs that the state file already has.

    The table has every program on which all the traces were measured, also in earlier calls, sorted by name.

    A program that cannot be opened is left out. A JSON line of the state file has a program's references and
    features, or the costs of some traces on it. `progress` gets the numbers of finished programs and of all.

    Raises:
        InputError: the state file has other objectives or observations.
    """
    head = {"objectives": list(setup.objectives), "observations": list(setup.observations)}
    known = read_json_lines(state, json_object, appended=True) or [head]
    if known[0] != head:
        had, expected = json.dumps(known[0]), json.dumps(head)
        raise InputError(f"{state}: a table of {had}, expected {expected}; choose another file")
    rows: dict[str, _Row] = {}
    for line in known[1:]:
        _add(rows, line)
    names = [join_trace(trace) for trace in traces]
    shards = {}
    for program in programs:
        row = rows.get(program.name)
        missing = [
            trace for trace, name in zip(traces, names, strict=True) if not row or name not in row.costs
        ]
        if missing:
            more = tuple(setup.objectives), tuple(setup.observations), missing, row and row.references
            shards[program.name] = program_shard(_measured, setup.task, program, *more)
    done = len(programs) - len(shards)
    with closing(LineFile(state, keep=len(known) > 1)) as file:
        if len(known) == 1:
            file.append(json.dumps(head))
        for _, lines in setup.do(list(shards.values())):
            for line in lines:
                file.append(json.dumps(line))
                _add(rows, line)
            done += 1
            if progress:
                progress(done, len(programs))
    whole = {name: row for name, row in sorted(rows.items()) if all(trace in row.costs for trace in names)}
    return _table(whole, traces, names, setup.objectives)


@dataclass
class _Row:
    """A program's row of the table."""

    features: list[float]
    references: list[float]
    reference_seconds: float
    costs: dict[str, tuple[list[float | None], float]]  # by trace: (costs, seconds)


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
    costs = np.array([[costs for costs, _ in row] for row in measured], dtype=np.float64)  # None becomes NaN
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
    task: Task,
    program: Program,
    objectives: Sequence[str],
    observations: Sequence[str],
    traces: Sequence[Trace],
    references: Sequence[float] | None,
) -> list[dict[str, Any]]:
    """Return the new lines of the state file; [] if the reference fails.

    With `references`, the file has them and the program's features already.
    """
    lines: list[dict[str, Any]] = []
    try:
        with closing(Worker(LIMITS)) as worker:
            if not references:
                features = features_of(Sandbox(task.open, program, worker=worker), observations)
                references, seconds = measure_reference(task, program, objectives, worker)
                lines.append(
                    {
                        "program": program.name,
                        "features": features.tolist(),
                        "references": references,
                        "reference_seconds": seconds,
                    }
                )
            measured = measure_traces(task, program, traces, objectives, worker, references)
    except (CompilerCrash, ProgramError):
        return []
    costs = {
        join_trace(trace): (cost or (None,) * len(objectives), round(seconds, 5))
        for trace, (cost, seconds) in zip(traces, measured, strict=True)
    }
    return [*lines, {"program": program.name, "costs": costs}]
