"""Trainings in many processes, on one machine or many.

The processes are DD-PPO's ranks, async-ppo's actors, or search and measure a training's programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from burnish.cluster.actors import LEARNER, ActorTraining
from burnish.cluster.engine import Engine
from burnish.cluster.engines import open_engine
from burnish.cluster.executor import OnEngine
from burnish.cluster.ranks import train_on
from burnish.learning.agents.ranks import of_this_process
from burnish.learning.training.algorithms import RANKED, TRAININGS, open_training
from burnish.learning.training.config import Config
from burnish.learning.training.loop import Listener, TrainingOutcome, train
from burnish.learning.training.ranked import train_rank

SLURM = "slurm"
SHARDS = "shards"
HERE = ("local", "submitit")  # engines of this machine


def is_ranked(config: Config) -> bool:
    """Return whether a training may run as several ranks."""
    return TRAININGS.get(config.algorithm["name"]) == RANKED


def train_many(
    config: Config,
    folder: Path,
    listener: Listener = Listener(),
    *,
    on: str = "",
    options: Mapping[str, Any] = {},
    processes: int | None = None,
) -> TrainingOutcome | None:
    """Train by a configuration with as many processes as asked for; see burnish.learning.training.loop.train.

    Args:
        config: The configuration.
        folder: The run's folder; nodes of other machines need it, too.
        listener: Callbacks.
        on: The engine of the processes: see open_engine; "" for processes of this machine. In a job of SLURM,
            "slurm" is the engine of actors, and ranks are the job's tasks.
        options: The engine's options.
        processes: The number of ranks, actors or programs at a time; by default the engine's slots, or one
            rank without `on`.

    Returns:
        The outcome; None in a process that torchrun or SLURM started, and whose rank is above 0.

    Raises:
        InputError: the algorithm works in one process only.
    """
    slots = {} if processes is None else {"slots": processes}
    opened = partial(_open, on or "local", {**options, **slots})
    everywhere = bool(on) and on not in HERE
    if config.algorithm["name"] == LEARNER:
        training = partial(ActorTraining, open_engine=opened, everywhere=everywhere)
        return train(config, folder, training, listener)
    if (on in ("", SLURM) and (processes or 1) == 1) or of_this_process()[1] > 1:
        return train_rank(config, folder, listener)
    if is_ranked(config):
        return train_on(opened, config, folder, listener, address="" if everywhere else "127.0.0.1")
    return train(config, folder, partial(open_training, do=OnEngine(opened, folder / SHARDS)), listener)


def _open(name: str, options: Mapping[str, Any], folder: Path) -> Engine:
    return open_engine(name, folder, options)
