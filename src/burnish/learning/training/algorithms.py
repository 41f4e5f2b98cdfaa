"""The algorithms by name; their modules, and torch, are imported when one is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.errors import MissingTool, UnknownName, install
from burnish.core.task import Task
from burnish.learning.training.config import Config, named_task
from burnish.learning.training.tables import from_table

if TYPE_CHECKING:
    from burnish.learning.training.loop import Training

Note = Callable[[str], None]


@dataclass(frozen=True)
class Algorithm:
    """Where a learner and its configuration are."""

    module: str
    learner: str
    imitates: bool = False  # and is made with demonstrations

    @property
    def settings(self) -> str:
        """The name of its configuration's dataclass, whose fields are the keys of [algorithm]."""
        return f"{self.learner}Config"


LEARNERS: dict[str, Algorithm] = {
    "ppo": Algorithm("burnish.learning.agents.ppo", "PPO"),
    "sac": Algorithm("burnish.learning.agents.sac", "SAC"),
    "dqn": Algorithm("burnish.learning.agents.dqn", "DQN"),
    "td": Algorithm("burnish.learning.agents.td", "TD"),
    "tabular-q": Algorithm("burnish.learning.agents.tabular", "TabularQ"),
    "evolution": Algorithm("burnish.learning.agents.evolution", "Evolution"),
    "bc-max": Algorithm("burnish.learning.agents.bc_max", "BCMax"),
    "cloning": Algorithm("burnish.learning.agents.cloning", "Cloning", imitates=True),
}

OF_LEARNERS = "burnish.learning.training.learning:PolicyTraining"
"""What trains them: "module:function" of (config, folder, note) -> Training."""

TRAININGS: dict[str, str] = {
    "sequence-values": "burnish.learning.portfolio.training:SequenceValuesTraining",
}
"""Other kinds of training, by name; tasks have kinds of their own."""


def trainings_of(task: Task) -> dict[str, str]:
    """Return what can be trained for a task, and where: by its name, "module:function"."""
    return {**dict.fromkeys(LEARNERS, OF_LEARNERS), **TRAININGS, **task.policies.trainings}


def open_training(config: Config, folder: Path, note: Note) -> Training:
    """Make what a configuration trains.

    Raises:
        UnknownName: there is no such algorithm, or no such task.
        InputError: the configuration does not fit.
    """
    name = config.algorithm["name"]
    known = trainings_of(named_task(config))
    if name not in known:
        raise UnknownName(f"{config.name}: algorithm.name: {UnknownName.among('algorithm', name, known)}")
    module, _, function = known[name].partition(":")
    make: Callable[[Config, Path, Note], Training] = getattr(importlib.import_module(module), function)
    return make(config, folder, note)


def settings_of(config: Config) -> tuple[Algorithm, Any]:
    """Return a learner, and its settings by the keys of [algorithm].

    Raises:
        UnknownName: there is no such key.
        InputError: a value is not what was expected.
    """
    table = dict(config.algorithm)
    algorithm = LEARNERS[table.pop("name")]
    kind = getattr(importlib.import_module(algorithm.module), algorithm.settings)
    return algorithm, from_table(kind, table, f"{config.name}: algorithm")


def without_torch() -> MissingTool:
    """Say how to get torch."""
    return MissingTool(f"training needs torch, which is not installed: {install('train')}")
