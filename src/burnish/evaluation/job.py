"""The whole job for one program: baselines, search, and a result that was measured again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.core.worker import Limits
from burnish.evaluation.confirm import confirm, measure_baselines, reference_of
from burnish.evaluation.timing import Effort
from burnish.policies import find as policies
from burnish.search import DEFAULT, Budget, Progress, search
from burnish.search.memory import Memory


def optimize(
    task: Task,
    program: Program,
    *,
    objective: str | None = None,
    method: str = DEFAULT,
    policy: str = policies.DEFAULT,
    budget: Budget,
    seed: int = 0,
    workers: int | None = None,
    limits: Limits = Limits(),
    baselines: Sequence[str] | None = None,
    variants: Mapping[str, Program] | None = None,
    effort: Effort = Effort(),
    memory: Path | None = None,
    on_reference: Callable[[str, float], None] | None = None,
    progress: Callable[[Progress], None] | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Result:
    """Search, replay what was found in new processes, and keep the reference where that is not better.

    Args:
        task: What to optimize by.
        program: What to optimize.
        objective: What to minimise; the task's first by default.
        method: One of burnish.search.SEARCHES.
        policy: What guides the search: see burnish.policies.find.
        budget: Of the search alone.
        seed: Of every random choice.
        workers: Processes; by default one for each core, and one alone for a noisy objective.
        limits: Of each process.
        baselines: Which ones to compare with; all of the task's by default.
        variants: The program as the front end makes it for a baseline, where that differs.
        effort: How thoroughly to compare what is noisy in the end.
        memory: A file of what was found before, which the search begins with and adds to: see
            burnish.search.memory. The result then depends on it.
        on_reference: Told which baseline the result is compared with and what it costs, before the search.
        progress: Called after every evaluation.
        note: Told what happens before and after the search.

    Raises:
        ProgramError: the program cannot be read.
        UnknownName: no such objective, baseline or search.
        InputError: the objective takes a run, and it is not known how to run the program.
    """
    goal = task.objective(objective)
    adviser, guide = policies.find_adviser(policy, task, goal.name) or (None, "")
    note("measuring the baselines")
    names = dict.fromkeys([*(baselines or task.baselines), task.reference])
    costs = measure_baselines(
        task, program, list(names), objective=goal.name, variants=variants, limits=limits
    )
    against = reference_of(task, goal, costs)
    if on_reference:
        on_reference(against, costs[against][goal.name])
    if memory:
        adviser = remembered = Memory(memory, task, program, goal.name, adviser)
    found = search(
        task,
        program.remembered(),
        method=method,
        objective=goal.name,
        budget=budget,
        seed=seed,
        adviser=adviser,
        workers=workers,
        limits=limits,
        progress=progress,
    )
    note(f"measuring anew and comparing with {task.label(against)}")
    found = replace(found, method=policies.named(method, guide), budget=budget.text)
    confirmed = confirm(task, program, found, costs, variants=variants, effort=effort, limits=limits)
    if memory and confirmed.valid and not confirmed.fallback:
        remembered.keep(confirmed.trace, confirmed.cost)
    return confirmed
