"""Evaluation of results against baselines: outputs are compared, sizes are exact, times have an interval."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.core.errors import CompilerCrash, ReplayError
from burnish.core.result import Result
from burnish.evaluation.gain import measure_gain
from burnish.evaluation.intervals import bootstrap_interval
from burnish.evaluation.remeasure import Outputs, measure_all, replay_result
from burnish.evaluation.timing import Comparer, Comparison
from burnish.search.problem import Problem

RUN_TIME = "seconds"


@dataclass(frozen=True)
class Evaluated:
    """One result against one baseline; ratios are baseline / result, above 1 if the result is better."""

    program: str
    against: str
    failure: str = ""  # the reason why there is no comparison
    checks: tuple[str, ...] = ()
    sizes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """By exact objective: the baseline's cost, and the result's cost."""
    noisy: Mapping[str, Comparison] = field(default_factory=dict)
    """By noisy objective: run time if the program can be run, and the result's own objective."""


@dataclass(frozen=True)
class MeanRatio:
    """The geometric mean of a ratio over programs.

    Its interval includes the choice of programs and the uncertainty of each program's ratio.
    """

    objective: str
    noisy: bool
    against: str
    programs: int
    failures: int  # excluded from the mean, because they have no ratio
    ratio: float
    low: float | None  # None: a single program with an exact ratio
    high: float | None


def evaluate_result(
    problem: Problem,
    result: Result,
    against: Sequence[str],
    *,
    comparer: Comparer,
    note: Callable[[str], None] = lambda _: None,
) -> list[Evaluated]:
    """Replay a result in new processes, check its behaviour, and compare it with baselines.

    Args:
        problem: The result's problem; if its program can be run, the outputs are compared with the
            unoptimized program's.
        result: The result: a trace, or the baseline that it kept.
        against: The names of the baselines.
        comparer: Compares times, with a set effort.
        note: Called with a description of each activity.

    Raises:
        UnknownName: no such baseline.
        MissingTool: the objective needs a counter that the machine does not have.
    """
    task, program = problem.task, problem.program
    for name in against:
        task.baseline(name)
    names = [RUN_TIME] if RUN_TIME in task.objectives and program.workload else []
    goals = [task.objective(name) for name in dict.fromkeys([*names, result.objective])]
    noisy = [goal for goal in goals if goal.noisy]
    evaluated = []
    with contextlib.ExitStack() as stack:
        try:
            note("replaying")
            session = replay_result(problem, result)
            stack.callback(session.shutdown)
            check = Outputs(problem).check(session)
            sizes = measure_all(session, task.exact_objectives, result.objective)
        except (CompilerCrash, ReplayError) as error:
            return [Evaluated(program.name, name, str(error)) for name in against]
        for name in dict.fromkeys(against):
            note(f"comparing with {task.label(name)}")
            baseline = problem.open_baseline(name)
            stack.callback(baseline.shutdown)
            try:
                compared = {
                    goal.name: measure_gain(
                        task, program, goal, baseline, session, comparer=comparer
                    ).comparison
                    for goal in noisy
                }
                pairs = {goal: (baseline.measure(goal), cost) for goal, cost in sizes.items()}
            except CompilerCrash as error:
                evaluated.append(Evaluated(program.name, name, f"{task.label(name)}: {error}"))
                continue
            evaluated.append(Evaluated(program.name, name, "", (check,), pairs, compared))
    return evaluated


def summarise(evaluated: Sequence[Evaluated], *, confidence: float, seed: int = 0) -> list[MeanRatio]:
    """Return each objective's mean ratio against each baseline, over all programs with the objective."""
    summaries = []
    for against in dict.fromkeys(row.against for row in evaluated):
        rows = [row for row in evaluated if row.against == against]
        failures = sum(1 for row in rows if row.failure)
        goals = dict.fromkeys(goal for row in rows for goal in (*row.sizes, *row.noisy))
        for goal in goals:
            ratios = [ratio for row in rows if (ratio := _interval_of(row, goal))]
            logs, lows, highs = (list(map(math.log, column)) for column in zip(*ratios, strict=True))
            intervals = list(zip(lows, highs, strict=True))
            low: float | None = None
            high: float | None = None
            if len(logs) > 1 or lows[0] < highs[0]:
                low, high = map(math.exp, bootstrap_interval(logs, intervals, confidence, seed=seed))
            mean = math.exp(math.fsum(logs) / len(logs))
            noisy = any(goal in row.noisy for row in rows)
            summaries.append(MeanRatio(goal, noisy, against, len(logs), failures, mean, low, high))
    return summaries


def ratio_of(row: Evaluated, goal: str) -> float | None:
    """Return baseline / result in an objective; None if it was not measured."""
    interval = _interval_of(row, goal)
    return interval[0] if interval else None


def _interval_of(row: Evaluated, goal: str) -> tuple[float, float, float] | None:
    """Return the ratio and the ends of its interval; None if it was not measured."""
    if goal in row.noisy:
        return row.noisy[goal].ratio, row.noisy[goal].low, row.noisy[goal].high
    if goal in row.sizes:
        baseline, cost = row.sizes[goal]
        return (baseline / cost,) * 3
    return None
