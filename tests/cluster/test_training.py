"""Trainings by their configurations, in as many processes as asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.cluster.training import train_many
from burnish.core.errors import InputError
from burnish.learning.training.expert import DEMONSTRATIONS
from tests.cluster.trainings import curve, small

CLONING = (
    "algorithm={name='cloning',batch_size=16}",
    "expert.evaluations=8",
    "environment.actions=['clang<Oz>','gvn','simplifycfg']",
    "run.iterations=2",
)


def test_demonstrations_are_searched_on_an_engine(tmp_path: Path) -> None:
    config = small(*CLONING)
    here, there = tmp_path / "here", tmp_path / "there"
    train_many(config, here)
    train_many(config, there, on="local", processes=2)
    assert sorted((there / DEMONSTRATIONS).read_text().splitlines()) == sorted(
        (here / DEMONSTRATIONS).read_text().splitlines()
    )
    assert curve(there) == curve(here)


def test_one_process_is_the_default(tmp_path: Path) -> None:
    outcome = train_many(small("run.iterations=1"), tmp_path)
    assert outcome and outcome.iteration == 1


def test_what_trains_in_one_process_takes_no_engine(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="smoke: ppo trains in one process; it takes no --on"):
        train_many(small(), tmp_path, on="ray")
    with pytest.raises(InputError, match="smoke: ppo trains in one process; it takes no --on"):
        train_many(small(), tmp_path, processes=2)
