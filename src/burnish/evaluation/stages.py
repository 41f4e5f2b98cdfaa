"""Tasks that are several: each stage by its own search and policy, behind the best of those before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from burnish.core.behind import begin_behind, ended, stage_behind
from burnish.core.guide import Adviser
from burnish.core.problem import Problem
from burnish.core.result import Result
from burnish.search import Budget, Progress, search

LEAST_SECONDS = 1e-3

Advise = Callable[[Problem], Adviser | None]


def search_stages(
    problem: Problem,
    budget: Budget,
    advise: Advise,
    *,
    method: str,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Search a task's stages one after the other, or the one that it is.

    A stage has its share of the budget, with what those before have left, and begins where the best trace of
    those before ends.

    Args:
        problem: What to optimize.
        budget: Of all stages together.
        advise: What guides the search of a stage.
        method: One of burnish.search.SEARCHES.
        seed: Of every random choice.
        progress: Called after every evaluation.

    Raises:
        ProgramError: the program cannot be read.
    """
    task, start = problem.task, time.monotonic()
    stages = task.stages or (task,)
    found: Result | None = None
    for number, stage in enumerate(stages):
        if found:
            stage = stage_behind(task, found.trace)
        part = replace(problem, task=stage)
        share = task.shares[number] / sum(task.shares[number:]) if task.stages else 1.0
        best = search(
            part,
            _left(budget, share, time.monotonic() - start, found.evaluations if found else 0),
            method=method,
            seed=seed,
            adviser=advise(part),
            progress=progress,
        )
        found = joined(problem, found, best) if found else replace(best, task=task.id)
        if math.isinf(found.cost):
            break
    assert found
    return replace(found, trace=ended(task, found.trace))


def joined(problem: Problem, before: Result, after: Result) -> Result:
    """Return what two searches found, the second in the next stage: the first's, where that is no better."""
    trace, cost = (*before.trace, begin_behind(problem.task, before.trace)), before.cost
    if after.trace and after.cost < cost:
        trace, cost = (*trace, *after.trace), after.cost
    evaluations, seconds = before.evaluations + after.evaluations, before.seconds + after.seconds
    return replace(before, trace=trace, cost=cost, evaluations=evaluations, seconds=seconds)


def _left(budget: Budget, share: float, seconds: float, evaluations: int) -> Budget:
    left, more = budget.seconds, budget.evaluations
    if left is not None:
        left = max(LEAST_SECONDS, share * (left - seconds))
    if more is not None:
        more = max(1, math.ceil(share * (more - evaluations)))
    return replace(budget, seconds=left, evaluations=more)
