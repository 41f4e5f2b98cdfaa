"""The algorithms by name; their modules, and torch, are imported when one is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.errors import MissingTool, UnknownName, install
from burnish.learning.training.config import Config
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
    "answer-values": "burnish.tasks.llvm_inlining.train.credit_training:AnswerValuesTraining",
    "eviction-cloning": "burnish.tasks.llvm_codegen.train.eviction_training:EvictionTraining",
    "eviction-ppo": "burnish.tasks.llvm_codegen.train.eviction_training:EvictionTraining",
    "eviction-evolution": "burnish.tasks.llvm_codegen.train.eviction_training:EvictionTraining",
    "schedule-costs": "burnish.tasks.loop_nests.train.cost_training:ScheduleCostsTraining",
    "op-schedule-costs": "burnish.tasks.mlir_schedules.train.op_cost_training:op_schedule_costs",
}
"""Other kinds of training, by name."""


def open_training(config: Config, folder: Path, note: Note) -> Training:
    """Make what a configuration trains.

    Raises:
        UnknownName: there is no such algorithm.
        InputError: the configuration does not fit.
    """
    name = config.algorithm["name"]
    if name not in (*LEARNERS, *TRAININGS):
        known = UnknownName.among("algorithm", name, (*LEARNERS, *TRAININGS))
        raise UnknownName(f"{config.name}: algorithm.name: {known}")
    module, _, function = TRAININGS.get(name, OF_LEARNERS).partition(":")
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
