"""Comparisons of methods as shards: a program with all its methods and budgets is one."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from burnish.cluster.engine import Engine
from burnish.cluster.policies import Contents, contents_of, path_here
from burnish.cluster.run import ShardProgress, run_shards
from burnish.cluster.shards import failure_file, machine_of, result_file, value_of
from burnish.core.decoding import decode
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.evaluation.cases import Case
from burnish.evaluation.compare import (
    Attempt,
    Figures,
    MethodComparison,
    Refused,
    attempt_all,
    attempts_at,
)
from burnish.evaluation.rows import Row
from burnish.evaluation.run_folder import settings_of
from burnish.llvm.toolchain import first_error
from burnish.policies.find import AT
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
    machine: str = "",
    progress: Callable[[ShardProgress], None] = lambda _: None,
) -> Generator[Row | Figures | Refused]:
    """Do what `burnish.evaluation.compare.compare_methods` does, on an engine.

    A program's attempts are made in sequence on one core, so their times come from one machine. Under a
    budget in evaluations the rows are those of any other engine, except for their times. A shard's result is
    removed once its items were taken: the rows are then the caller's only.

    Args:
        engine: Where the programs are evaluated.
        folder: The folder of the shards.
        plan: The plan.
        cases: The programs; they are loaded here, while the first ones are evaluated.
        is_done: Returns whether an attempt already has a row.
        known: Returns a program's earlier measurements, or None.
        machine: If the plan is timed: the kind of processor of earlier rows, or "".
        progress: See `run_shards`.

    Raises:
        InputError: the plan is timed, and there were machines of several kinds. Only rows of the first kind
            were yielded.
    """
    names: dict[str, str] = {}
    unreadable: deque[Refused] = deque()

    def shards() -> Iterator[Shard]:
        for number, case in enumerate(cases):
            try:
                problem = plan.problem(case.load(), case.variants())
            except InputError as error:
                unreadable.append(Refused(case.name, first_error(str(error))))
                continue
            program = problem.program
            if attempts := tuple(one for one in attempts_at(plan, number) if not is_done(program, one)):
                loaded = replace(case, programs=(), source=None)
                shard = _shard(plan, loaded, problem, known(program), attempts)
                names[shard.name] = case.name
                yield shard

    kinds: Counter[str] = Counter()
    for name, failure in run_shards(engine, folder, shards(), progress=progress):
        while unreadable:
            yield unreadable.popleft()
        if failure:
            last = failure.strip().splitlines()[-1]
            yield Refused(names[name], f"{last}; see {failure_file(folder, name)}")
            continue
        kinds[kind := machine_of(folder, name)] += 1
        machine = machine or kind
        if kind == machine or not plan.timed:
            for form, line in value_of(folder, name):
                yield _READ[form](line)
        result_file(folder, name).unlink()
    yield from unreadable
    if plan.timed and set(kinds) - {machine}:
        raise InputError(_several_kinds(machine, kinds))


def evaluate_case(
    plan: MethodComparison,
    case: Case,
    problem: Problem,
    figures: Figures | None,
    attempts: Sequence[Attempt],
    contents: Contents,
) -> list[tuple[str, str]]:
    """Make all attempts at a program; return (class of the item, JSON) for each item, in their order.

    `contents` are those of the policies that are files; the rows have the names that the user gave.
    """
    paths = {name: path_here(name, content) for name, content in contents.items()}
    names = {_with_policy(one.method, paths): one.method for one in attempts}
    attempts = [replace(one, method=_with_policy(one.method, paths)) for one in attempts]
    items = [
        replace(item, method=names[item.method]) if isinstance(item, Row) else item
        for item in attempt_all(plan, case, problem, figures, attempts)
    ]
    return [(type(item).__name__, json.dumps(asdict(item))) for item in items]


def _with_policy(method: str, paths: Mapping[str, str]) -> str:
    """Return `search@policy` with the policy's path on this machine, if it is among `paths`."""
    search, at, policy = method.partition(AT)
    return f"{search}{at}{paths.get(policy, policy)}"


_READ: dict[str, Callable[[str], Row | Figures | Refused]] = {
    "Row": Row.from_json,
    "Figures": lambda line: decode(Figures, line, "figures of a program"),
    "Refused": lambda line: decode(Refused, line, "a program that was left out"),
}


def _shard(
    plan: MethodComparison,
    case: Case,
    problem: Problem,
    figures: Figures | None,
    attempts: tuple[Attempt, ...],
) -> Shard:
    """Return the shard of a program; its name differs if anything differs that the rows depend on."""
    programs = {name: program.key for name, program in problem.variants.items()}
    parts = [settings_of(plan), plan.limits, plan.effort, case.name, case.project, problem.program.key]
    parts += [sorted(programs.items()), figures, attempts]
    contents = contents_of({one.method.partition(AT)[2] for one in attempts}, plan.task)
    return Shard(name_of(*parts), evaluate_case, (plan, case, problem, figures, attempts, contents))


def _several_kinds(machine: str, kinds: Counter[str]) -> str:
    """Return an error for programs that were timed on machines of several kinds."""
    counts = ", ".join(f"{count} on {kind}" for kind, count in kinds.most_common())
    return (
        f"times of different machines cannot be compared. Programs by machine: {counts}. Only rows of "
        f"{machine} are kept; for the others, start the same command with an engine option that selects "
        "this kind, such as slurm_constraint of SLURM or resources of Ray"
    )
