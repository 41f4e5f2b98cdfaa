"""Confirmation of results: measure a search's result again, and keep the reference if it is not better."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import burnish
from burnish.core.errors import CompilerCrash, InputError, Miscompiled, NotMeasurable, ReplayError
from burnish.core.objective import Objective
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.remeasure import Measured, measure_all, remeasure
from burnish.evaluation.timing import FASTER, NO_DIFFERENCE, Comparison, Effort
from burnish.search.problem import Problem
from burnish.workers.worker import Worker

Costs = dict[str, dict[str, float]]  # {baseline: {objective: cost}}


def measure_baselines(problem: Problem, names: Sequence[str]) -> Costs:
    """Measure every exact objective of the program, and the problem's own, under some baselines.

    Raises:
        NotMeasurable: the program does not have the problem's objective.
        InputError: under a baseline, the program behaves differently than unoptimized.
    """
    task = problem.task
    objectives = dict.fromkeys([*task.exact_objectives, problem.goal.name])
    worker = Worker(problem.limits)
    costs: Costs = {}
    try:
        for name in names:
            session = problem.open_baseline(name, worker)
            costs[name] = measure_all(session, objectives, problem.goal.name)
    except NotMeasurable as error:
        raise NotMeasurable(f"{problem.program.name}: {error}") from None
    except Miscompiled as error:
        raise InputError(
            f"{problem.program.name}: at {task.label(name)} it behaves differently from "
            f"{task.label(task.unoptimized)}: {error}; is its behaviour undefined?"
        ) from None
    finally:
        worker.close()
    return costs


def reference_of(task: Task, goal: Objective, baselines: Costs) -> str:
    """Return the baseline to compare with: the task's reference.

    For a weighted objective it is the cheapest baseline, because no baseline is made for that objective.
    """
    if not goal.formula.is_weighted:
        return task.reference
    return min(baselines, key=lambda name: baselines[name][goal.name])


def confirm(
    problem: Problem,
    found: Result,
    baselines: Costs,
    *,
    effort: Effort = Effort(),
    expected: bool = False,
) -> Result:
    """Replay a search's result, measure it again, and keep the reference if the result is not better.

    A program with a workload is run on all its inputs, and must behave as the unoptimized program. A noisy
    objective is better if a comparison's interval shows it. The returned result's `beside` has the other
    objectives. If a replay or check fails, `valid` is False and the reference is kept.

    Args:
        problem: The problem that the search solved.
        found: The search's result.
        baselines: The costs by measure_baselines, including the task's reference.
        effort: The effort of a noisy comparison.
        expected: True if a policy expects a gain. A noisy objective is then better unless the comparison's
            interval shows a loss.
    """
    task = problem.task
    goal = task.objective(found.objective)
    against = reference_of(task, goal, baselines)
    reference = baselines[against]
    seen: Measured | None = None
    try:
        seen = remeasure(problem, found, against, effort=effort)
        checks = seen.checks
    except (CompilerCrash, ReplayError) as error:
        checks = (f"failed: {error}",)
    if seen and seen.comparison:
        reference = reference | {goal.name: seen.baseline}
    kept = seen if seen and _is_better(seen, goal, reference, expected=expected) else None
    costs = kept.costs if kept else reference
    baselines = baselines | {against: reference}
    return replace(
        found,
        trace=kept.trace if kept else (),
        fallback="" if kept else against,
        cost=costs[found.objective],
        baselines={name: costs[found.objective] for name, costs in baselines.items()},
        beside={
            objective: {"result": costs[objective]}
            | {name: row[objective] for name, row in baselines.items()}
            for objective in task.exact_objectives
            if objective != found.objective and objective in costs
        },
        timing={"against": against} | _shown(seen.comparison) if seen and seen.comparison else {},
        state=kept.state if kept else "",
        valid=seen is not None,
        verified=checks,
        toolchain=toolchain(task),
    )


def _is_better(seen: Measured, goal: Objective, reference: Mapping[str, float], *, expected: bool) -> bool:
    if seen.comparison:
        better = (FASTER, NO_DIFFERENCE) if expected else (FASTER,)
        return seen.comparison.verdict in better
    return seen.costs[goal.name] < reference[goal.name]


def _shown(comparison: Comparison) -> dict[str, float | str]:
    """Return the figures of a comparison that a result stores."""
    return {name: value for name, value in asdict(comparison).items() if name not in ("least", "median")}


def toolchain(task: Task) -> dict[str, str]:
    """Return the versions that a result depends on."""
    return {"burnish": burnish.__version__, **task.checks.toolchain(), "python": platform.python_version()}
