"""A folder is of one evaluation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.core.program import Run, Workload
from burnish.evaluation.budgets import BudgetRule
from burnish.evaluation.compare import Figures, MethodComparison, Refused
from burnish.evaluation.run_folder import RunFolder, read_settings
from tests.core.counting_task import TASK, counters
from tests.evaluation.rows import row

PLAN = MethodComparison(TASK, "total", ("random",), (BudgetRule.parse("10", TASK),))


def opened(path: Path, plan: MethodComparison = PLAN) -> RunFolder:
    """Open a folder and close its file."""
    folder = RunFolder(path, plan)
    folder.close()
    return folder


def test_what_was_added_is_there_again(tmp_path: Path) -> None:
    program = counters("a=1")
    folder = RunFolder(tmp_path / "run", PLAN)
    figures = Figures("a=1", program.digest, {"halved": 0.1}, {"start": {"total": 2.0}}, program.key)
    found = row("a=1", 1.0, digest=program.digest)
    for item in (figures, found, Refused("a=2", "no reference")):
        folder.add(item)
    folder.close()
    again = opened(tmp_path / "run")
    assert again.known(program) == figures
    assert again.is_done(program, "m", "10 evaluations", 0)
    assert not again.is_done(program, "m", "10 evaluations", 1)
    assert not again.is_done(counters("a=2"), "m", "10 evaluations", 0)
    assert again.rows == {found.key: found}


def test_figures_are_of_a_workload(tmp_path: Path) -> None:
    small, large = (replace(counters("a=1"), workload=Workload((Run(size),))) for size in ("small", "large"))
    folder = RunFolder(tmp_path, PLAN)
    figures = Figures("a=1", small.digest, {}, {"start": {"seconds": 2.0}}, small.key)
    folder.add(figures)
    folder.close()
    again = opened(tmp_path)
    assert again.known(small) == figures
    assert again.known(large) is again.known(counters("a=1")) is None


def test_changed_policy_is_refused(tmp_path: Path) -> None:
    opened(tmp_path, replace(PLAN, policies={"mixed@p": "1"}))
    opened(tmp_path, replace(PLAN, policies={"mixed@q": "2"}))
    opened(tmp_path)
    assert read_settings(tmp_path)["policies"] == {"mixed@p": "1", "mixed@q": "2"}
    with pytest.raises(InputError, match="has rows of mixed@p with another policy of that name"):
        opened(tmp_path, replace(PLAN, policies={"mixed@p": "3"}))


@pytest.mark.parametrize(
    ("change", "said"),
    [({"objective": "largest"}, "objective = 'total', not 'largest'"), ({"seed": 3}, "seed = 0, not 3")],
)
def test_other_settings_are_refused(tmp_path: Path, change: dict[str, object], said: str) -> None:
    opened(tmp_path)
    with pytest.raises(InputError, match=said):
        opened(tmp_path, replace(PLAN, **change))  # type: ignore[arg-type]


def test_damaged_files_are_told(tmp_path: Path) -> None:
    opened(tmp_path)
    (tmp_path / "programs.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"programs.jsonl, line 1: .*; remove the file to measure again"):
        opened(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(InputError, match=r"run.json: expected an object"):
        opened(tmp_path)
    with pytest.raises(InputError, match="cannot write there"):
        opened(Path("/proc/nothing"))
