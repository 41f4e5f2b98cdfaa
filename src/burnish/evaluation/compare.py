"""Comparison of methods on many programs, with equal time or evaluations, on one core per program."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from burnish import _native
from burnish.core.errors import BurnishError, CompilerCrash, InputError, ReplayError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.budgets import BudgetRule, pipeline_seconds
from burnish.evaluation.cases import Case
from burnish.evaluation.confirm import Costs, measure_baselines
from burnish.evaluation.remeasure import Measured, remeasure
from burnish.evaluation.rows import Row
from burnish.evaluation.solvers import solver_of
from burnish.evaluation.timing import Effort
from burnish.llvm.toolchain import first_error
from burnish.search import Budget, Progress
from burnish.search.problem import Problem
from burnish.workers.worker import GIB, Limits, Worker, wait

CLAIM_TOLERANCE = 1e-9  # permitted relative difference between a claimed and the measured cost
PATIENCE_SECONDS = 3600.0  # deadline for one method on one program, its budget and replay included
MEMORY_BYTES = 256 * GIB  # limit of a process that runs methods; its workers have limits of their own


@dataclass(frozen=True)
class MethodComparison:
    """The plan of a comparison."""

    task: Task
    objective: str
    methods: tuple[str, ...]
    budgets: tuple[BudgetRule, ...]
    seed: int = 0
    limits: Limits = Limits()
    effort: Effort = Effort()
    policies: Mapping[str, str] = field(default_factory=dict)  # digests, by method

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines whose pipelines' times define budgets."""
        return tuple(dict.fromkeys(name for rule in self.budgets for name in rule.multiples))

    @property
    def timed(self) -> bool:
        """True if the rows depend on time, by a budget or by the objective."""
        return any(rule.timed for rule in self.budgets) or self.task.objective(self.objective).noisy

    def problem(self, program: Program, variants: Mapping[str, Program]) -> Problem:
        """Return a program's problem for the methods."""
        return Problem(self.task, program, self.objective, variants, self.limits)


@dataclass(frozen=True)
class Figures:
    """A program's measurements, made once, so that all methods are compared with the same numbers."""

    program: str
    digest: str
    pipeline_seconds: dict[str, float]  # by baseline
    costs: Costs  # of the unoptimized program and of the reference
    key: str = ""  # Program.key; "" in files of earlier versions, whose programs are measured again


@dataclass(frozen=True)
class Refused:
    """A program that could not be read or measured; no figure includes it."""

    program: str
    reason: str


@dataclass(frozen=True)
class Attempt:
    """One method within one budget."""

    method: str
    rule: BudgetRule


@dataclass
class _Running:
    """A process' current program; `attempts` are the unanswered ones."""

    case: Case
    problem: Problem
    attempts: deque[Attempt]
    figures: Figures | None


def compare_methods(
    plan: MethodComparison,
    cases: Sequence[Case],
    *,
    jobs: int = 1,
    is_done: Callable[[Program, Attempt], bool] = lambda *_: False,
    known: Callable[[Program], Figures | None] = lambda _: None,
) -> Generator[Row | Figures | Refused]:
    """Run every method within every budget on every program, and yield rows as they finish.

    A program's methods run in sequence on one core. Their order differs from program to program, so that
    other load on the machine affects all methods alike. Each result is replayed and checked on that core,
    outside of its budget. Every attempt gives a row; a bug in a method ends its process, and is a failure.

    Args:
        plan: The plan.
        cases: The programs.
        jobs: The number of programs at a time.
        is_done: Returns whether an attempt already has a row.
        known: Returns a program's earlier measurements, or None.

    Raises:
        InputError: there are more jobs than cores.
    """
    cores = sorted(os.sched_getaffinity(0))
    if not 1 <= jobs <= len(cores):
        raise InputError(f"{jobs} jobs: expected 1 to {len(cores)}, as each takes a core of its own")
    workers = [Worker(Limits(PATIENCE_SECONDS, MEMORY_BYTES)) for _ in range(jobs)]
    core_of = dict(zip(workers, cores, strict=False))
    waiting = deque(enumerate(cases))
    running: dict[Worker, _Running] = {}
    try:
        while waiting or running:
            for worker in workers:
                while waiting and worker not in running:
                    number, case = waiting.popleft()
                    try:
                        problem = plan.problem(case.load(), case.variants())
                    except InputError as error:
                        yield Refused(case.name, first_error(str(error)))
                        continue
                    program = problem.program
                    attempts = [one for one in attempts_at(plan, number) if not is_done(program, one)]
                    if attempts:
                        running[worker] = _Running(case, problem, deque(attempts), known(program))
                        _send(worker, plan, running[worker], core_of[worker])
            ready = wait(list(running), PATIENCE_SECONDS) if running else []
            for worker in ready or list(running):
                yield from _collect(worker, plan, running, core_of[worker])
    finally:
        for worker in workers:
            worker.close()


def attempt_all(
    plan: MethodComparison,
    case: Case,
    problem: Problem,
    figures: Figures | None,
    attempts: Sequence[Attempt],
) -> Generator[Row | Figures | Refused]:
    """Make attempts at one program, as `compare_methods` does, in a new process on this process' first core.

    Args:
        plan: The plan.
        case: The program's name and project; it is not loaded.
        problem: The program's problem.
        figures: The program's earlier measurements, if any.
        attempts: The attempts, in their order; at least one.
    """
    core = min(os.sched_getaffinity(0))
    worker = Worker(Limits(PATIENCE_SECONDS, MEMORY_BYTES))
    running = {worker: _Running(case, problem, deque(attempts), figures)}
    try:
        _send(worker, plan, running[worker], core)
        while running:
            yield from _collect(worker, plan, running, core)
    finally:
        worker.close()


def attempts_at(plan: MethodComparison, number: int) -> list[Attempt]:
    """Return all attempts at a program: the budgets in order, the methods rotated by the program's number."""
    turn = number % len(plan.methods)
    methods = plan.methods[turn:] + plan.methods[:turn]
    return [Attempt(method, rule) for rule in plan.budgets for method in methods]


def _send(worker: Worker, plan: MethodComparison, item: _Running, core: int) -> None:
    case = replace(item.case, programs=())  # the process needs only this one program
    worker.send(
        evaluate_program,
        plan,
        case,
        item.problem,
        item.figures,
        tuple(item.attempts),
        core,
    )


def _collect(
    worker: Worker, plan: MethodComparison, running: dict[Worker, _Running], core: int
) -> Generator[Row | Figures | Refused]:
    item = running[worker]
    try:
        more, answer = worker.receive()
    except (BurnishError, RuntimeError) as error:  # the process died, or a bug of burnish in the process
        if item.figures is None:
            del running[worker]
            yield Refused(item.case.name, _last_line(error))
            return
        row = _blank(plan, item.case, item.figures, item.attempts.popleft())
        yield replace(row, failure=_last_line(error))
        more, answer = bool(item.attempts), None
        if item.attempts:
            _send(worker, plan, item, core)
    if not more:
        del running[worker]
    elif isinstance(answer, Figures):
        item.figures = answer
        yield answer
    elif isinstance(answer, Row):
        item.attempts.popleft()
        yield answer


def evaluate_program(
    plan: MethodComparison,
    case: Case,
    problem: Problem,
    figures: Figures | None,
    attempts: Sequence[Attempt],
    core: int,
) -> Iterator[Figures | Row]:
    """Make attempts at a program in sequence; bind this process and its workers to a core."""
    os.sched_setaffinity(0, {core})
    if figures is None or not set(plan.baselines) <= figures.pipeline_seconds.keys():
        figures = measure_program(plan, case, problem)
        yield figures
    for attempt in attempts:
        yield make_attempt(plan, case, problem, figures, attempt)


def measure_program(plan: MethodComparison, case: Case, problem: Problem) -> Figures:
    """Measure the numbers that all methods are compared with."""
    names = dict.fromkeys([next(iter(plan.task.baselines)), plan.task.reference])
    costs = measure_baselines(problem, list(names))
    worker = Worker(plan.limits)
    try:
        seconds = pipeline_seconds(plan.task, problem.program, plan.baselines, worker)
    finally:
        worker.close()
    return Figures(case.name, problem.program.digest, seconds, costs, problem.program.key)


def make_attempt(
    plan: MethodComparison, case: Case, problem: Problem, figures: Figures, attempt: Attempt
) -> Row:
    """Run a method within its budget, then replay and check its result."""
    budget = attempt.rule.budget(figures.pipeline_seconds)
    row = _blank(plan, case, figures, attempt)
    curve: list[tuple[float, int, float]] = []
    start = time.monotonic()

    def progress(now: Progress) -> None:
        if not curve or now.best.cost < curve[-1][2]:
            curve.append((round(time.monotonic() - start, 4), now.evaluations, now.best.cost))

    try:
        found = solver_of(attempt.method, plan.task)(problem, budget, plan.seed, progress)
        seconds = time.monotonic() - start
        row = replace(row, evaluations=found.evaluations, seconds=round(seconds, 4), curve=_finite(curve))
        seen = remeasure(problem, found, plan.task.reference, effort=plan.effort)
        _check_claim(plan, found, seen)
    except (CompilerCrash, ReplayError) as error:
        return replace(row, seconds=row.seconds or round(time.monotonic() - start, 4), failure=str(error))
    return _with_measured(row, plan, figures, found, seen)


def _blank(plan: MethodComparison, case: Case, figures: Figures, attempt: Attempt) -> Row:
    budget: Budget = attempt.rule.budget(figures.pipeline_seconds)
    unoptimized = next(iter(plan.task.baselines))
    return Row(
        program=case.name,
        digest=figures.digest,
        project=case.project,
        objective=plan.objective,
        method=attempt.method,
        budget=attempt.rule.text,
        seed=plan.seed,
        reference=plan.task.reference,
        reference_cost=figures.costs[plan.task.reference][plan.objective],
        unoptimized_cost=figures.costs[unoptimized][plan.objective],
        budget_seconds=None if budget.seconds is None else round(budget.seconds, 4),
        machine=_native.host_machine().cpu,
    )


def _check_claim(plan: MethodComparison, found: Result, seen: Measured) -> None:
    """Compare a method's claimed cost with the measured cost."""
    claimed, cost = found.cost, seen.costs[plan.objective]
    if plan.task.objective(plan.objective).noisy or claimed == float("inf"):
        return
    if abs(claimed - cost) > CLAIM_TOLERANCE * cost:
        raise ReplayError(
            f"{found.method} reported the cost {claimed:g} for its trace; the replay costs {cost:g}"
        )


def _with_measured(row: Row, plan: MethodComparison, figures: Figures, found: Result, seen: Measured) -> Row:
    timing: dict[str, Any] = {}
    if seen.comparison:
        names = ("ratio", "low", "high", "verdict", "confidence", "repeats")
        timing = {name: getattr(seen.comparison, name) for name in names}
    reference = figures.costs[plan.task.reference]
    return replace(
        row,
        reference_cost=seen.baseline if seen.comparison else row.reference_cost,
        cost=seen.costs[plan.objective],
        fallback=found.fallback,
        trace=seen.trace,
        state=seen.state,
        beside={
            name: (reference[name], seen.costs[name])
            for name in plan.task.exact_objectives
            if name != plan.objective and name in seen.costs
        },
        timing=timing,
        checks=seen.checks,
    )


def _finite(curve: Sequence[tuple[float, int, float]]) -> tuple[tuple[float, int, float], ...]:
    return tuple(point for point in curve if point[2] < float("inf"))


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1][:500]
