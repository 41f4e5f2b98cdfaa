"""Comparisons of methods on engines: the rows of one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.cluster.engines import open_engine
from burnish.cluster.evaluating import compare_on
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.evaluation.cases import Case
from burnish.evaluation.compare import Attempt, Refused, compare_methods
from burnish.evaluation.rows import Row
from tests.cluster.test_engines import ENGINES, opened
from tests.evaluation.test_compare import CASES, plan, rows_of, timeless

PLAN = plan("random", "genetic", "halved")


def rows_on(name: str, folder: Path) -> list[Row]:
    """Return the rows of an engine, without times, in the order of their keys."""
    rows = rows_of(compare_on(opened(name, folder), folder, PLAN, CASES))
    return sorted(map(timeless, rows), key=lambda row: row.key)


@pytest.mark.parametrize("name", ENGINES)
def test_rows_do_not_depend_on_the_engine(name: str, tmp_path: Path) -> None:
    expected = sorted(map(timeless, rows_of(compare_methods(PLAN, CASES))), key=lambda row: row.key)
    assert rows_on(name, tmp_path) == expected
    assert len(expected) == 9


def test_a_second_run_takes_the_rows_from_the_folder(tmp_path: Path) -> None:
    first = rows_on("local", tmp_path)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()}
    assert rows_on("local", tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()} == files


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
