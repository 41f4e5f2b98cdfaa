"""Verification of a leaderboard: replay its rows, and compute its figures again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from burnish.core.errors import BurnishError, CompilerCrash, InputError, ReplayError
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.cases import Case, sampled
from burnish.evaluation.confirm import measure_baselines
from burnish.evaluation.leaderboard import Entry, figures_of, programs_digest, rows_of_entry
from burnish.evaluation.remeasure import remeasure
from burnish.evaluation.rows import Row
from burnish.evaluation.timing import Effort
from burnish.search.problem import Problem
from burnish.workers.worker import Limits

TOLERANCE = 1e-9  # relative difference of equal figures
MOST_SHOWN = 5  # most names of missing or unexpected programs in a message


@dataclass(frozen=True)
class Replays:
    """The choice of rows to replay, and the limits of the replays."""

    count: int | None = None  # number of rows, drawn by the seed; None: all
    seed: int = 0
    limits: Limits = Limits()  # of the compiler's processes


def verify_entry(
    path: Path,
    entry: Entry,
    task: Task,
    cases: Sequence[Case],
    *,
    replays: Replays = Replays(),
    note: Callable[[Row], None] = lambda _: None,
) -> Iterator[str]:
    """Yield an entry's errors as they are found; nothing if the entry is right.

    The rows must be the entry's own, cover the programs that it names, and give its figures. Each trace is
    replayed and measured again, and so are the unoptimized program and the reference.

    Args:
        path: The leaderboard.
        entry: One of its entries.
        task: The entry's task, with the entry's options.
        cases: The programs that the entry's names stand for here.
        replays: The rows to replay; by default all.
        note: Called with each row before its replay.
    """
    try:
        rows = rows_of_entry(path, entry)
    except InputError as error:
        yield str(error)
        return
    if not rows:
        yield f"{entry.rows}: there is no row in it"
        return
    yield from _check_kind(entry, rows)
    yield from _check_programs(entry, rows, cases)
    yield from _check_figures(entry, rows)
    by_name = {case.name: case for case in cases}
    measured = []
    for row in _drawn(rows, replays):
        note(row)
        try:
            case = by_name[row.program]
            problem = Problem(task, case.load(), variants=case.variants(), limits=replays.limits)
            found = measure_row(problem, row)
        except KeyError:
            continue  # already reported by _check_programs
        except BurnishError as error:
            yield f"{row.program}: {error}"
            found = replace(row, cost=None)
        measured.append(found)
        yield from _check_row(row, found)
    if replays.count is None and len(measured) == len(rows):
        yield from _check_ratio(entry, measured)


def measure_row(problem: Problem, row: Row) -> Row:
    """Return a row with all costs measured again; for a noisy objective, only the state.

    Raises:
        InputError: the program is not the row's, or the trace is invalid in the task.
        CompilerCrash, ReplayError: the replay of the trace fails.
    """
    task = problem.task
    if problem.program.digest != row.digest:
        raise InputError("not the program that the row is of: it was changed since")
    goal = task.objective(row.objective)
    names = dict.fromkeys([next(iter(task.baselines)), row.reference])
    costs = measure_baselines(problem, list(names))
    if row.cost is None:  # nothing to replay
        return replace(row, **_baseline_costs(task, row, costs))
    found = Result(
        task=task.id,
        program=row.program,
        digest=row.digest,
        objective=row.objective,
        method=row.method,
        seed=row.seed,
        trace=row.trace,
        cost=row.cost,
        baselines={},
        evaluations=row.evaluations,
        seconds=row.seconds,
        toolchain={},
        fallback=row.fallback,
    )
    try:
        effort = None if goal.noisy else Effort()  # times differ from run to run
        seen = remeasure(problem, found, row.reference, effort=effort)
    except (CompilerCrash, ReplayError) as error:
        raise type(error)(f"the trace does not stand up to being replayed: {error}") from None
    if goal.noisy:
        return replace(row, state=seen.state)
    return replace(row, **_baseline_costs(task, row, costs), cost=seen.costs[row.objective], state=seen.state)


def _baseline_costs(task: Task, row: Row, costs: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    if row.objective not in costs[row.reference]:
        return {}
    unoptimized = next(iter(task.baselines))
    return {
        "reference_cost": costs[row.reference][row.objective],
        "unoptimized_cost": costs[unoptimized][row.objective],
    }


def _check_kind(entry: Entry, rows: Sequence[Row]) -> Iterator[str]:
    for name in ("objective", "reference", "method", "budget", "seed"):
        others = {getattr(row, name) for row in rows} - {getattr(entry, name)}
        if others:
            yield f"rows have {name} {sorted(map(str, others))[0]}, the entry says {getattr(entry, name)}"


def _check_programs(entry: Entry, rows: Sequence[Row], cases: Sequence[Case]) -> Iterator[str]:
    if programs_digest((row.program, row.digest) for row in rows) != entry.digest:
        yield "the rows are of other programs than the entry's digest is of"
    if len(rows) != entry.count:
        yield f"{len(rows)} rows, the entry says {entry.count}"
    expected = {case.name for case in sampled(cases, entry.sample, entry.seed)}
    there = {row.program for row in rows}
    for names, what in ((expected - there, "no row of"), (there - expected, "rows of other programs:")):
        if names:
            some = ", ".join(sorted(names)[:MOST_SHOWN])
            yield f"{what} {some}{', ...' if len(names) > MOST_SHOWN else ''}"


def _check_figures(entry: Entry, rows: Sequence[Row]) -> Iterator[str]:
    for name, value in figures_of(rows, entry.confidence).items():
        said = getattr(entry, name)
        if not _same(said, value):
            yield f"{name} is {value} by its rows, the entry says {said}"


def _check_row(row: Row, found: Row) -> Iterator[str]:
    for name in ("reference_cost", "unoptimized_cost", "cost", "state"):
        said, value = getattr(row, name), getattr(found, name)
        if value is not None and not _same(said, value):  # None: the failure is already reported
            yield f"{row.program}: {name} is {value}, the row says {said}"


def _check_ratio(entry: Entry, measured: Sequence[Row]) -> Iterator[str]:
    ratio = figures_of(measured, entry.confidence)["ratio"]
    if not _same(entry.ratio, ratio):
        yield f"replayed, the ratio is {ratio:.6g}; the entry says {entry.ratio:.6g}"


def _same(said: object, value: object) -> bool:
    if isinstance(said, float) and isinstance(value, float):
        return math.isclose(said, value, rel_tol=TOLERANCE)
    return said == value


def _drawn(rows: Sequence[Row], replays: Replays) -> list[Row]:
    if replays.count is None or replays.count >= len(rows):
        return list(rows)
    order = np.random.default_rng(replays.seed).permutation(len(rows))
    return [rows[i] for i in sorted(order[: replays.count])]
