"""Policies that act at sites, and that answer what a compiler asks: trained, exported, used."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.learning.portfolio.costs import TableSetup, fill, measure_reference
from burnish.learning.training.algorithms import open_training
from burnish.learning.training.collect import collect, problems_of
from burnish.learning.training.config import config_of
from burnish.learning.training.loop import TrainingOutcome, train
from burnish.learning.training.validation import SCORE
from burnish.policies.guiding import load_guide
from burnish.policies.load import load_action_policy
from burnish.search import Budget
from burnish.workers.worker import Worker
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls, optimum
from tests.core.splitting_task import OPTIMUM, pieces
from tests.core.splitting_task import TASK as SPLITTING

CALLS = calls("main 4: f f g; f 2: h; g 6: h; h 5:")


def trained(
    task: Task, program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch, **environment: Any
) -> TrainingOutcome:
    """Train by a configuration, on one program."""
    monkeypatch.setattr("burnish.learning.training.config.load_task", lambda name: task)
    file = folder / f"program.{task.language}"
    file.write_bytes(program.content)
    table = {
        "task": task.name,
        "algorithm": {"name": "ppo", "steps": 60, "minibatch": 40, "learning_rate": 0.01},
        "programs": {"use": str(file)},
        "validation": {"use": str(file)},
        "environment": {"count": 2, "dense": True} | environment,
        "network": {"kind": "mlp", "hidden": [16]},
        "run": {"iterations": 15, "validate_every": 15, "standardize_steps": 40},
        "track": {"tensorboard": False},
    }
    return train(config_of(table, "mine.toml"), folder / "run", open_training)


@pytest.mark.parametrize(
    ("task", "program", "best", "sites"),
    [
        pytest.param(SPLITTING, pieces("3 2"), OPTIMUM, 4, id="splitting"),
        pytest.param(ASKING, CALLS, optimum(CALLS), 0, id="asked"),
        pytest.param(ASKING, CALLS, optimum(CALLS), 2, id="asking"),
    ],
)
def test_a_trained_policy_solves_it(
    task: Task, program: Program, best: float, sites: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = trained(task, program, tmp_path, monkeypatch, sites=sites)
    assert outcome.policy and outcome.best
    session = task.open(program)
    reference = task.baseline(task.reference)(program).measure(task.objective().name)
    assert outcome.best.metrics[SCORE] == pytest.approx(reference / best)
    card = json.loads(outcome.policy.with_suffix(".card.json").read_text())
    assert (card["sites"], card["max_steps"]) == (sites, task.max_steps)
    assert card["actions"][: 2 * len(task.actions)][-1] == (f"#1: {task.actions[-1]}" if sites else "fold")
    assert load_action_policy(outcome.policy).actions == tuple(card["actions"])
    guide_for = load_guide(outcome.policy, task)
    session.replay(next(iter(guide_for(session).initial_traces)))
    assert session.measure(task.objective().name) == best


def test_sites_that_do_not_fit_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="sites is -1; expected at least 0"):
        trained(SPLITTING, pieces("2"), tmp_path, monkeypatch, sites=-1)


def test_traces_are_collected_and_measured_without_initial_ones(tmp_path: Path) -> None:
    problems = problems_of(ASKING, [CALLS], ["size"])
    (found,) = collect(problems, tmp_path / "collected.jsonl", budget=Budget(evaluations=600))
    assert (found.reference, found.cost) == (31, optimum(CALLS))
    table = fill(
        TableSetup(SPLITTING, ["area"], ["lengths"]),
        [pieces("6"), pieces("3")],
        [("1: split",), ()],
        tmp_path / "costs.jsonl",
    )
    assert table.references.tolist() == [[10], [37]], "sorted by name"
    assert table.costs[..., 0].tolist() == [[10, 10], [19, 37]]
    never = replace(ASKING, reference="never")
    with closing(Worker()) as worker:
        assert measure_reference(never, CALLS, ["size"], worker)[0] == (32,)
