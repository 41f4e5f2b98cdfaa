"""burnish tasks: what there is to choose from."""

from __future__ import annotations

import json

import pytest

from burnish.cli import main
from burnish.tasks.llvm_passes import TASK


def test_tasks_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    shown = capsys.readouterr().out
    for name in (TASK.id, *TASK.observations, *TASK.objectives, *TASK.baselines):
        assert name in shown


def test_tasks_lists_the_actions_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "llvm_passes"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert {f"    {action}: {TASK.describe(action)}" for action in TASK.actions} <= set(shown)


def test_tasks_as_json_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--json"]) == 0
    (row,) = [row for row in json.loads(capsys.readouterr().out) if row["task"] == TASK.id]
    assert row["actions"] == list(TASK.actions) == list(row["effects"])
    assert row["effects"]["mem2reg"] == TASK.describe("mem2reg")
    assert row["observations"]["autophase"]["shape"] == [56]


def test_unknown_task_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "llvm_pass"]) == 2
    assert "did you mean 'llvm_passes'" in capsys.readouterr().err
