"""The whole job for one program: measure baselines, search, and measure the result again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.core.argument_checks import check_class, whole_number_in
from burnish.core.errors import InputError
from burnish.core.guide import Guide, GuideFor
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.trace import Trace, split_entry
from burnish.evaluation.confirm import confirm, measure_baselines, reference_of
from burnish.evaluation.finals import SHARE, Heard, finals, has_finals
from burnish.evaluation.timing import Effort
from burnish.policies import find as policies
from burnish.search import DEFAULT, Budget, Progress
from burnish.search.memory import Memory
from burnish.search.problem import Problem
from burnish.search.stages import search_stages


@dataclass(frozen=True)
class Strategy:
    """The settings of a search.

    Attributes:
        method: One of burnish.search.SEARCHES.
        policy: The policy that guides the search: see burnish.policies.find.
        seed: The seed of every random choice.
        memory: A file of earlier results, which the search begins with and adds to: see
            burnish.search.memory. The result then depends on this file.
    """

    method: str = DEFAULT
    policy: str = policies.DEFAULT
    seed: int = 0
    memory: Path | None = None

    def __post_init__(self) -> None:
        whole_number_in("seed", self.seed, 0)


@dataclass(frozen=True)
class Callbacks:
    """Callbacks that report a job's progress.

    Attributes:
        reference: Called before the search with the reference baseline's name and cost.
        progress: Called after every evaluation.
        note: Called with a description of each activity before and after the search.
    """

    reference: Callable[[str, float], None] = lambda *_: None
    progress: Callable[[Progress], None] | None = None
    note: Callable[[str], None] = lambda _: None


def optimize(
    problem: Problem,
    budget: Budget,
    *,
    strategy: Strategy = Strategy(),
    baselines: Sequence[str] | None = None,
    effort: Effort = Effort(),
    callbacks: Callbacks = Callbacks(),
) -> Result:
    """Search, replay the result in new processes, and keep the reference if the result is not better.

    Where measurements are noisy, few gains are certain. The best of a search in a limit of time is chosen in
    finals (burnish.evaluation.finals), and kept unless the interval shows a loss. If it is not kept, the
    policy's own choice (Guide.choice) is compared with the reference next, and kept in the same way: the
    policy has learned from many comparisons, and one more says little.

    Args:
        problem: The program, the task and the objective.
        budget: The budget of the search alone.
        strategy: The settings of the search.
        baselines: The baselines to compare with; by default all of the task's.
        effort: The effort of the final comparison of noisy objectives.
        callbacks: Callbacks that report progress.

    Raises:
        ProgramError: the program cannot be read.
        UnknownName: no such objective, baseline or search.
        InputError: the objective requires runs, and the program has no workload.
    """
    check_class("problem", problem, Problem, "Problem(load_task(NAME), load_program(FILE))")
    check_class("budget", budget, Budget, "Budget(seconds=10) or Budget.parse('10s')")
    check_class("strategy", strategy, Strategy, "Strategy('genetic')")
    task, goal = problem.task, problem.goal
    if strategy.memory and task.stages:
        raise InputError(f"{task.name} has several stages, and their traces cannot be remembered")
    guides: list[str] = []
    remembered: list[Memory] = []
    choices: list[Trace] = []

    def guide_of(part: Problem) -> GuideFor | None:
        guide_for, guide = policies.find_guide(strategy.policy, part.task, goal.name) or (None, "")
        guides.append(guide)
        if guide_for and goal.noisy and not task.stages:
            guide_for = _listening(guide_for, choices)
        if strategy.memory:
            guide_for = Memory(strategy.memory, task, part.program, goal.name, guide_for)
            remembered.append(guide_for)
        return guide_for

    callbacks.note("measuring the baselines")
    names = dict.fromkeys([*(baselines or task.baselines), task.reference])
    costs = measure_baselines(problem, list(names))
    against = reference_of(task, goal, costs)
    callbacks.reference(against, costs[against][goal.name])
    last = SHARE * (budget.seconds or 0.0) if has_finals(problem, budget) else 0.0
    heard = Heard(callbacks.progress)
    found = search_stages(
        replace(problem, program=problem.program.remembered()),
        replace(budget, seconds=budget.seconds - last) if budget.seconds else budget,
        guide_of,
        method=strategy.method,
        seed=strategy.seed,
        progress=heard if last else callbacks.progress,
    )
    winner: Trace | None = None
    if last and heard.costs:
        callbacks.note("running the best traces in turn")
        began = time.monotonic()
        with suppress(KeyboardInterrupt):  # the search's own best is there
            winner = finals(problem, choices, heard.best(), against, last)
        found = replace(found, seconds=round(found.seconds + time.monotonic() - began, 3))
    if winner is not None:
        found = replace(found, trace=winner, cost=heard.costs.get(winner, found.cost))
    callbacks.note(f"measuring again and comparing with {task.label(against)}")
    method = policies.named(strategy.method, next(filter(None, guides), ""))
    found = replace(found, method=method, budget=budget.text)
    confirmed = confirm(problem, found, costs, effort=effort, expected=winner is not None)
    if confirmed.fallback and choices:
        callbacks.note(f"comparing the policy's choice with {task.label(against)}")
        choice = replace(found, trace=choices[0], cost=costs[against][goal.name])
        chosen = confirm(problem, choice, costs, effort=effort, expected=True)
        confirmed = confirmed if chosen.fallback else chosen
    if remembered and confirmed.valid and not confirmed.fallback:
        remembered[0].keep(confirmed.trace, confirmed.cost)
    return confirmed


def _listening(guide_for: GuideFor, choices: list[Trace]) -> GuideFor:
    """Return the same policy, which also appends its choice to a list if the task has these actions."""

    def listening(session: Session) -> Guide:
        guide = guide_for(session)
        if guide.choice and {split_entry(text)[1] for text in guide.choice} <= set(session.actions):
            choices.append(guide.choice)
        return guide

    return listening
