"""Policies are found by their names; a task brings kinds, trainings and shipped policies of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import UnknownName
from burnish.core.guide import Guide, GuideFor, in_order
from burnish.core.session import Session
from burnish.core.task import Task, TaskPolicies
from burnish.learning.training import config as configs
from burnish.learning.training.algorithms import Note, open_training
from burnish.learning.training.config import Config, config_of
from burnish.policies import find
from burnish.policies.npz import read_archive, write_archive
from tests.core.counting_task import TASK, counters, open_counters

KIND = "fixed-trace"
FORMAT = 0


def load_fixed(path: Path, task: Task) -> GuideFor:
    """Load a policy that always says the same."""
    _, rest = read_archive(path, FORMAT)

    def guide_for(session: Session) -> Guide:
        return Guide(in_order([tuple(rest["trace"])]))

    return guide_for


def open_fixed(config: Config, folder: Path, note: Note) -> tuple[Config, Path]:
    """Open a training that trains nothing."""
    return config, folder


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """Return a task with a kind of policy, a training and a shipped policy of its own."""
    rest = {"format": FORMAT, "kind": KIND, "trace": ["subtract(1)"]}
    write_archive(tmp_path / "counting-total.npz", {"unused": np.zeros(1)}, rest)
    own = TaskPolicies({KIND: f"{__name__}:load_fixed"}, {KIND: f"{__name__}:open_fixed"}, shipped=tmp_path)
    return replace(TASK, policies=own)


@pytest.mark.parametrize("name", ["shipped", "counting-total"])
def test_a_policy_that_comes_with_a_task_is_found(name: str, task: Task) -> None:
    assert find.names_for(task) == ["counting-total"]
    assert find.names_for(TASK) == []
    found = find.find_guide(name, task, "total")
    assert found and found[1] == "counting-total"
    assert list(found[0](open_counters(counters("a=2"))).initial_traces) == [("subtract(1)",)]
    assert find.find_guide("shipped", task, "another") is None


def test_it_is_known_to_that_task_only(task: Task) -> None:
    with pytest.raises(UnknownName, match=r"'counting-totla'.*did you mean 'counting-total'"):
        find.find_guide("counting-totla", task, "total")
    with pytest.raises(UnknownName, match="counting-total"):
        find.find_guide("counting-total", TASK, "total")


def test_a_training_of_a_task_is_opened(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = {
        "task": "counting",
        "algorithm": {"name": KIND},
        "programs": {"use": "a"},
        "validation": {"use": "a"},
        "run": {"iterations": 1},
    }
    config = config_of(table, "mine")
    monkeypatch.setattr(configs, "load_task", lambda name: task)
    assert open_training(config, tmp_path, print) == (config, tmp_path)
    monkeypatch.setattr(configs, "load_task", lambda name: TASK)
    with pytest.raises(UnknownName, match=f"mine: algorithm.name: no algorithm named '{KIND}'"):
        open_training(config, tmp_path, print)
