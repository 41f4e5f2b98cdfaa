"""Comparisons of methods as shards: a program with all its methods and budgets is one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from burnish.cluster.engine import Engine
from burnish.cluster.run import ShardProgress, run_shards
from burnish.cluster.shards import value_of
from burnish.core.decoding import decode
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.evaluation.cases import Case
from burnish.evaluation.compare import (
    Attempt,
    Figures,
    MethodComparison,
    Refused,
    attempts_at,
    evaluate_program,
)
from burnish.evaluation.rows import Row
from burnish.llvm.toolchain import first_error
from burnish.search.problem import Problem
from burnish.workers.executor import Shard, name_of


def compare_on(
    engine: Engine,
    folder: Path,
    plan: MethodComparison,
    cases: Sequence[Case],
    *,
    is_done: Callable[[Program, Attempt], bool] = lambda *_: False,
    known: Callable[[Program], Figures | None] = lambda _: None,
    progress: Callable[[ShardProgress], None] = lambda _: None,
) -> Generator[Row | Figures | Refused]:
    """Do what `burnish.evaluation.compare.compare_methods` does, on an engine.

    A program's attempts are made in sequence on one core, so their times come from one machine. Under a
    budget in evaluations the rows are those of any other engine, except for their times.

    Args:
        engine: Where the programs are evaluated.
        folder: The folder of the shards.
        plan: The plan.
        cases: The programs.
        is_done: Returns whether an attempt already has a row.
        known: Returns a program's earlier measurements, or None.
        progress: See `run_shards`.
    """
    shards: dict[str, Shard] = {}
    names: dict[str, str] = {}
    for number, case in enumerate(cases):
        try:
            program = case.load()
        except InputError as error:
            yield Refused(case.name, first_error(str(error)))
            continue
        attempts = tuple(one for one in attempts_at(plan, number) if not is_done(program, one))
        if attempts:
            problem = plan.problem(program, case.variants())
            arguments = plan, replace(case, programs=()), problem, known(program), attempts
            name = _name(plan, problem, attempts)
            shards[name], names[name] = Shard(name, evaluate_case, arguments), case.name
    run = run_shards(engine, folder, list(shards.values()), progress=progress)
    while True:
        try:
            name = next(run)
        except StopIteration as end:
            failures = end.value.failures
            break
        for kind, line in value_of(folder, name):
            yield Row.from_json(line) if kind == "row" else decode(Figures, line, "figures of a program")
    for name, why in failures.items():
        yield Refused(names[name], why.strip().splitlines()[-1])


def evaluate_case(
    plan: MethodComparison,
    case: Case,
    problem: Problem,
    figures: Figures | None,
    attempts: Sequence[Attempt],
) -> list[tuple[str, str]]:
    """Make all attempts at a program; return ("figures", JSON) and ("row", JSON) in their order."""
    (core, *_) = sorted(os.sched_getaffinity(0))
    return [
        ("row", item.to_json()) if isinstance(item, Row) else ("figures", json.dumps(asdict(item)))
        for item in evaluate_program(plan, case, problem, figures, attempts, core)
    ]


def _name(plan: MethodComparison, problem: Problem, attempts: Sequence[Attempt]) -> str:
    """Return a name that differs if anything differs that the rows depend on."""
    program = problem.program
    parts = [plan.task.id, dict(plan.task.options), plan.objective, plan.seed, dict(plan.policies)]
    parts += [program.name, program.key, [(one.method, one.rule.text) for one in attempts]]
    return name_of(*parts)
