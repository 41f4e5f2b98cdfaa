"""Comparisons of methods on engines: the rows of one process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.cluster import evaluating
from burnish.cluster.engines import open_engine
from burnish.cluster.evaluating import compare_on
from burnish.cluster.run import ShardProgress
from burnish.cluster.shards import RESULTS
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import SearchHints
from burnish.evaluation.cases import Case
from burnish.evaluation.compare import Attempt, MethodComparison, Refused, attempts_at, compare_methods
from burnish.evaluation.rows import Row
from burnish.evaluation.timing import Effort
from burnish.workers.worker import Limits
from tests.cluster.test_engines import ENGINES, opened
from tests.core.counting_task import TASK
from tests.evaluation.test_compare import CASES, PROGRAMS, Deadly, Defect, plan, rows_of, timeless

PLAN = plan("random", "genetic", "halved")


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows without times, in the order of their keys."""
    return sorted(map(timeless, rows), key=lambda row: row.key)


@pytest.fixture(scope="module")
def expected() -> list[Row]:
    """Return the rows of one process."""
    return in_order(rows_of(compare_methods(PLAN, CASES)))


def rows_on(
    name: str, folder: Path, asked: MethodComparison = PLAN, cases: Sequence[Case] = CASES
) -> list[Row]:
    """Return the rows of an engine, without times, in the order of their keys."""
    return in_order(rows_of(compare_on(opened(name, folder), folder, asked, cases)))


@pytest.mark.parametrize("name", ENGINES)
def test_rows_do_not_depend_on_the_engine(name: str, tmp_path: Path, expected: list[Row]) -> None:
    assert rows_on(name, tmp_path) == expected
    assert len(expected) == 9


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("initial_traces", [Deadly(), Defect()])
def test_a_method_that_ends_its_process_fails_alone_on_every_engine(
    name: str, initial_traces: tuple[Any, ...], tmp_path: Path
) -> None:
    asked = plan("halved", "random", "start", task=replace(TASK, hints=SearchHints(initial_traces)))
    rows = rows_on(name, tmp_path, asked, CASES[:2])
    assert len(rows) == 6
    assert rows == in_order(rows_of(compare_methods(asked, CASES[:2])))
    assert {(row.method, row.valid) for row in rows} == {("halved", True), ("random", False), ("start", True)}


def test_a_stopped_run_goes_on_with_the_shards_that_are_done(tmp_path: Path, expected: list[Row]) -> None:
    going = compare_on(open_engine("local", tmp_path, {"slots": 1}), tmp_path, PLAN, CASES)
    next(going)
    going.close()
    there = len(list((tmp_path / RESULTS).glob("[!.]*")))  # a killed process may leave a hidden file
    seen: list[ShardProgress] = []
    engine = open_engine("local", tmp_path, {"slots": 2})
    assert in_order(rows_of(compare_on(engine, tmp_path, PLAN, CASES, progress=seen.append))) == expected
    assert seen[-1].resumed == there >= 1
    assert not list((tmp_path / RESULTS).glob("[!.]*"))  # the rows are the caller's, who may remove some


@pytest.mark.parametrize(
    "change",
    [
        {"limits": Limits(deadline_seconds=19)},
        {"effort": Effort(repeats=3)},
        {"seed": 1},
        {"policies": {"genetic": "a digest"}},
        {"task": replace(TASK, checks=replace(TASK.checks, toolchain=lambda: {"LLVM": "22"}))},
    ],
)
def test_a_shard_has_another_name_if_its_rows_may_differ(change: dict[str, Any]) -> None:
    def name(asked: MethodComparison = PLAN, **variants: Program) -> str:
        problem = PLAN.problem(PROGRAMS[0], variants)
        return evaluating._shard(asked, CASES[0], problem, None, tuple(attempts_at(PLAN, 0))).name

    assert name() == name() != name(replace(PLAN, **change))
    assert name() != name(start=PROGRAMS[1]) != name(start=PROGRAMS[2])


@pytest.fixture
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the second shard done by another kind of machine."""
    kinds = iter(["znver3", "skylake", "znver3"])
    monkeypatch.setattr(evaluating, "machine_of", lambda *_: next(kinds))


@pytest.mark.usefixtures("two_kinds")
@pytest.mark.parametrize(("before", "kept"), [("", 2), ("skylake", 1)])
def test_times_of_machines_of_two_kinds_are_never_together(before: str, kept: int, tmp_path: Path) -> None:
    asked = plan("halved", budgets=("1s",))
    engine = open_engine("local", tmp_path, {"slots": 2})
    going = compare_on(engine, tmp_path, asked, CASES, machine=before)
    rows: list[Row] = []
    with pytest.raises(InputError, match=r"Programs by machine: 2 on znver3, 1 on skylake\.") as caught:
        for item in going:
            rows += [item] if isinstance(item, Row) else []
    assert len(rows) == kept
    assert f"Only rows of {before or 'znver3'} are kept" in str(caught.value)
    assert "slurm_constraint" in str(caught.value)


@pytest.mark.usefixtures("two_kinds")
def test_costs_do_not_depend_on_the_kind_of_machine(tmp_path: Path, expected: list[Row]) -> None:
    assert rows_on("local", tmp_path) == expected


def test_only_missing_attempts_are_made(tmp_path: Path) -> None:
    def is_done(program: Program, attempt: Attempt) -> bool:
        return attempt.method == "random" or program.name == CASES[0].name

    engine = open_engine("local", tmp_path, {"slots": 2})
    rows = rows_of(compare_on(engine, tmp_path, PLAN, CASES, is_done=is_done))
    assert {(row.program, row.method) for row in rows} == {
        (case.name, method) for case in CASES[1:] for method in ("genetic", "halved")
    }


class Unreadable(Case):
    """A case whose file is gone."""

    def load(self) -> Program:
        raise InputError("gone.c: no such file")


def test_a_program_that_cannot_be_read_is_refused_and_the_others_are_compared(tmp_path: Path) -> None:
    cases = [Unreadable("gone.c", "p", [], 0), CASES[1]]
    engine = open_engine("local", tmp_path, {"slots": 1})
    items = list(compare_on(engine, tmp_path, PLAN, cases))
    assert items[0] == Refused("gone.c", "gone.c: no such file")
    assert {row.program for row in rows_of(iter(items))} == {CASES[1].name}
