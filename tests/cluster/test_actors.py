"""Actors of an asynchronous learner: their episodes come once, are not too old, and survive their deaths."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from burnish.cluster.actors import ACTORS, ActorPool, ActorTraining
from burnish.core.errors import BurnishError
from burnish.learning.agents.async_ppo import Played
from burnish.learning.training.checkpoint import load_checkpoint
from burnish.learning.training.config import Config
from burnish.learning.training.learning import PolicySetup
from burnish.learning.training.loop import Listener, TrainingOutcome, train
from tests.cluster.conftest import needs_slurm
from tests.cluster.trainings import Opened, curve, opens, small
from tests.conftest import children
from tests.waiting import alive, wait_until

ASYNC = ("algorithm.name=async-ppo", "algorithm.staleness=2")


def learn(folder: Path, opened: Any, *changes: str, **more: Any) -> TrainingOutcome:
    make = partial(ActorTraining, open_engine=opened)
    return train(small(*ASYNC, *changes), folder, make, Listener(**more))


def pool(folder: Path, opened: Any, config: Config) -> tuple[ActorPool, dict[str, Any]]:
    """Return two actors and a policy for them."""
    setup = PolicySetup(config)
    setup.choose_programs()
    torch.manual_seed(1)
    return ActorPool(opened(folder), folder, config, setup.programs.order), setup.policy().state_dict()


def names(played: list[Played]) -> list[str]:
    return [one.episode.program for one in played]


def test_actors_take_turns_with_the_programs_and_act_by_the_newest_policy(tmp_path: Path) -> None:
    """Eight programs, two actors of two environments: each program has its turn."""
    actors, policy = pool(tmp_path / "actors", Opened(), small(*ASYNC))
    try:
        actors.publish(0, 5, policy)
        first = actors.take(4 * 4, oldest=0)
        assert {one.version for one in first} == {0}
        assert all(len(one.episode) == len(one.episode.notes) == 4 for one in first)
        seen = set(names(first))
        while len(seen) < 8:
            seen |= set(names(actors.take(4 * 4, oldest=0)))
        actors.publish(1, 5, {name: value + 0 for name, value in policy.items()})
        while {one.version for one in actors.take(16, oldest=1)} != {1}:
            pass
        actors.publish(2, 5, policy)
        assert min(one.version for one in actors.take(16, oldest=2)) >= 1
    finally:
        actors.close()
    assert not (tmp_path / "actors").exists()


def test_a_killed_actor_costs_its_episodes_in_hand_and_training_ends(tmp_path: Path) -> None:
    opened = Opened()

    def kill_once(progress: Any) -> None:
        if progress.row["iteration"] == 2 and not killed:
            killed.append(opened.pids()[1])
            os.kill(killed[0], signal.SIGKILL)

    killed: list[int] = []
    outcome = learn(tmp_path, opened, "run.iterations=10", progress=kill_once)
    assert (outcome.why, outcome.iteration) == ("iterations", 10)
    rows = curve(tmp_path)[1:]
    assert rows[-1]["actors/lost"] == 1.0
    assert all(row["staleness/most"] <= 2 for row in rows)
    assert all(after["steps"] - before["steps"] >= 8 * 2 * 2 for before, after in pairwise(rows))


def test_actors_that_never_play_end_the_training(tmp_path: Path) -> None:
    """No program can be opened so quickly."""
    config = small(*ASYNC, "environment.deadline_seconds=1e-9")
    actors, policy = pool(tmp_path / "actors", Opened(), config)
    try:
        actors.publish(0, 0, policy)
        with pytest.raises(BurnishError, match="3 actors were lost before one had played an episode: "):
            actors.take(16, oldest=0)
    finally:
        actors.close()


LEARNER = """
import sys
from functools import partial
from pathlib import Path
from burnish.cluster.actors import ActorTraining
from burnish.learning.training.loop import train
from tests.cluster.test_actors import ASYNC
from tests.cluster.trainings import opens, small

if __name__ == "__main__":
    config = small(*ASYNC, "run.iterations=1000")
    train(config, Path(sys.argv[1]), partial(ActorTraining, open_engine=opens("local")))
"""


def test_a_killed_learner_goes_on_from_its_checkpoint_and_leaves_no_actor(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    learner = subprocess.Popen([sys.executable, "-c", LEARNER, str(folder)])
    wait_until(lambda: (log := folder / "log.jsonl").exists() and log.read_bytes().count(b"\n") > 3, learner)
    actors = children(learner.pid)
    learner.kill()
    learner.wait()
    wait_until(lambda: not any(map(alive, actors)))
    before = load_checkpoint(folder)
    assert before and before.iteration >= 2
    learn(folder, opens("local"), f"run.iterations={before.iteration + 2}")
    rows = curve(folder)
    assert [row["iteration"] for row in rows] == list(range(before.iteration + 3))
    assert rows[-1]["steps"] > before.steps
    assert not (folder / ACTORS).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["ray", "submitit", pytest.param("slurm", marks=needs_slurm)],
)
def test_actors_play_on_every_engine(name: str, tmp_path: Path) -> None:
    pytest.importorskip("ray" if name == "ray" else "submitit")
    make = partial(ActorTraining, open_engine=opens(name), everywhere=True)
    outcome = train(small(*ASYNC), tmp_path, make, Listener())
    assert (outcome.why, outcome.iteration) == ("iterations", 6)
    assert all(row["staleness/most"] <= 2 for row in curve(tmp_path)[1:])
