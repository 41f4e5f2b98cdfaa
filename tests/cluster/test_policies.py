"""Policies that are files: they are used on machines that do not have the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.cli.jobs.job import Job, SearchSettings
from burnish.cli.jobs.search_shards import search_or_error
from burnish.cluster.evaluating import evaluate_case
from burnish.cluster.policies import contents_of, path_here
from burnish.evaluation import Strategy
from burnish.evaluation.budgets import BudgetRule
from burnish.evaluation.cases import Case
from burnish.evaluation.compare import Attempt, MethodComparison
from burnish.evaluation.rows import Row
from burnish.policies.find import shipped
from burnish.search import Budget
from burnish.tasks.llvm_passes import TASK
from tests.evaluation.test_compare import timeless
from tests.sources import program

SHIPPED = "llvm_passes-ir-instructions"


@pytest.fixture
def content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bytes:
    """Work in an empty folder; return the content of a policy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return shipped(TASK)[SHIPPED].read_bytes()


def test_only_files_travel(content: bytes) -> None:
    Path("mine.npz").write_bytes(content)
    assert contents_of(["shipped", "none", "", SHIPPED, "mine.npz"], TASK) == {"mine.npz": content}


def test_a_file_is_written_once_and_again_if_it_is_damaged(content: bytes) -> None:
    path = Path(path_here("folder/mine.npz", content))
    assert (path.name, path.read_bytes()) == ("mine.npz", content)
    before = path.stat().st_mtime_ns
    assert path_here("mine.npz", content) == str(path)
    assert path.stat().st_mtime_ns == before
    path.write_bytes(content[:-1])
    assert Path(path_here("mine.npz", content)).read_bytes() == content


def rows(contents: dict[str, bytes]) -> list[Row]:
    """Return the rows of a comparison with mixed@mine.npz, without times."""
    plan = MethodComparison(TASK, "ir-instructions", ("mixed@mine.npz", "random"), ())
    one = program("machine.c")
    attempts = [Attempt(method, BudgetRule.parse("8", TASK)) for method in plan.methods]
    case, problem = Case(one.name, "p", [one], 0), plan.problem(one, {})
    found = evaluate_case(plan, case, problem, None, attempts, contents)
    read = [Row.from_json(line) for kind, line in found if kind == "Row"]
    assert all(row.valid for row in read)
    return [timeless(row) for row in read]


def test_rows_have_the_names_that_the_user_gave(content: bytes) -> None:
    there = rows({"mine.npz": content})
    assert [row.method for row in there] == ["mixed@mine.npz", "random"]
    Path("mine.npz").write_bytes(content)
    assert rows({}) == there


def test_results_have_the_policys_own_name(content: bytes) -> None:
    strategy = Strategy(method="mixed", policy="mine.npz")
    settings = SearchSettings(Budget(evaluations=8, workers=1), "ir-instructions", strategy)
    job = Job(program("machine.c"), ("machine.c",), Path("out.ll"))
    kind, text = search_or_error(TASK, job, settings, {"mine.npz": content})
    assert kind == "Result", text
    assert json.loads(text)["method"] == "mixed@mine"
