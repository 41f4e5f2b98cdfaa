"""Training algorithms by name; an algorithm's module, and torch, are imported on first use."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.errors import InputError, MissingTool, UnknownName, install
from burnish.core.task import Task
from burnish.learning.training.config import Config, named_task
from burnish.learning.training.tables import from_table
from burnish.workers.executor import Executor

if TYPE_CHECKING:
    from burnish.learning.training.loop import Training

Note = Callable[[str], None]


@dataclass(frozen=True)
class Algorithm:
    """Location of a learner; the fields of its `{learner}Config` are the keys of [algorithm]."""

    module: str
    learner: str
    imitates: bool = False  # it learns from demonstrations
    starts: bool = True  # `start_from` can name its initial weights
    of_actors: bool = False  # other processes play for it, which `burnish.cluster.training.train_many` begins


LEARNERS: dict[str, Algorithm] = {
    "ppo": Algorithm("burnish.learning.agents.ppo", "PPO"),
    "dd-ppo": Algorithm("burnish.learning.agents.dd_ppo", "DDPPO"),
    "async-ppo": Algorithm("burnish.learning.agents.async_ppo", "AsyncPPO", of_actors=True),
    "sac": Algorithm("burnish.learning.agents.sac", "SAC"),
    "dqn": Algorithm("burnish.learning.agents.dqn", "DQN"),
    "td": Algorithm("burnish.learning.agents.td", "TD"),
    "tabular-q": Algorithm("burnish.learning.agents.tabular", "TabularQ", starts=False),
    "evolution": Algorithm("burnish.learning.agents.evolution", "Evolution"),
    "bc-max": Algorithm("burnish.learning.agents.bc_max", "BCMax"),
    "cloning": Algorithm("burnish.learning.agents.cloning", "Cloning", imitates=True),
}

OF_LEARNERS = "burnish.learning.training.learning:PolicyTraining"
"""The training of LEARNERS, as "module:function" of (config, folder, note) -> Training."""

RANKED = "burnish.learning.training.ranked:RankedTraining"
"""The training of learners that run as several ranks."""

TRAININGS: dict[str, str] = {
    "dd-ppo": RANKED,
    "sequence-values": "burnish.learning.portfolio.training:SequenceValuesTraining",
}
"""Other kinds of training, by name; a task may define further kinds."""


def trainings_of(task: Task) -> dict[str, str]:
    """Return the trainings that a task offers: "module:function" by algorithm name."""
    return {**dict.fromkeys(LEARNERS, OF_LEARNERS), **TRAININGS, **task.policies.trainings}


def open_training(config: Config, folder: Path, note: Note, do: Executor | None = None) -> Training:
    """Open the training that a configuration names.

    Args:
        config: The configuration.
        folder: The run's folder.
        note: Shows the current activity.
        do: Searches and measures programs, if the training does so before or while it learns.

    Raises:
        UnknownName: there is no such algorithm or task.
        InputError: the configuration does not fit the training, the training has no use for `do`, or its
            learner needs actors.
    """
    name = config.algorithm["name"]
    known = trainings_of(named_task(config))
    if name not in known:
        raise UnknownName(f"{config.name}: algorithm.name: {UnknownName.among('algorithm', name, known)}")
    if name in LEARNERS and LEARNERS[name].of_actors:
        raise InputError(
            f"{config.name}: {name} learns from actors; start it by `burnish train`, or in Python by "
            "burnish.cluster.training.train_many"
        )
    make: Callable[..., Training] = pkgutil.resolve_name(known[name])
    if do is None:
        return make(config, folder, note)
    if not (LEARNERS[name].imitates if name in LEARNERS else "do" in signature(make).parameters):
        raise InputError(f"{config.name}: {name} trains in one process; it takes no --on and --processes")
    return make(config, folder, note, do=do)


def settings_of(config: Config) -> tuple[Algorithm, Any]:
    """Return a learner's location, and its settings from the keys of [algorithm].

    Raises:
        UnknownName: a key is unknown.
        InputError: a value has the wrong type or range.
    """
    table = dict(config.algorithm)
    algorithm = LEARNERS[table.pop("name")]
    kind = pkgutil.resolve_name(f"{algorithm.module}:{algorithm.learner}Config")
    return algorithm, from_table(kind, table, f"{config.name}: algorithm")


def without_torch() -> MissingTool:
    """Return the error for a missing torch, which names the command to install it."""
    return MissingTool(f"training needs torch, which is not installed: {install('train')}")
