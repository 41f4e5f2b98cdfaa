"""The part of a Training that its configuration determines: task, objective, programs, card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import torch

from burnish.core.errors import InputError
from burnish.core.task import Task
from burnish.learning.training.chosen_programs import choose
from burnish.learning.training.config import Config, named_task
from burnish.learning.training.tables import from_table
from burnish.workers.worker import Limits

Plan = TypeVar("Plan")


class ConfiguredTraining:
    """A Training (burnish.learning.training.loop) without its iterations.

    Attributes:
        reference: The task's baseline that SCORE compares with.
        objective: The name of the minimised objective.
        limits: The limits of the worker processes.
    """

    ends = False
    starts = False  # whether `start_from` can name its initial weights

    def __init__(self, config: Config, *, of_task: str | None = None) -> None:
        """Look up the task and the objective.

        Raises:
            UnknownName: there is no such task, objective or option.
            InputError: the training is for the task `of_task` only, an option's value is invalid, or the
                training does not support `start_from`.
        """
        if config.start_from and not self.starts:
            raise begins_anew(config)
        torch.set_num_threads(config.run.threads)
        self.config = config
        self.task = task_of(config)
        if of_task and self.task.name != of_task:
            raise InputError(f"{config.name}: task: {self.task.name}: expected {of_task}")
        self.reference = self.task.reference
        self.objective = self.task.objective(config.objective).name
        self.limits = Limits(deadline_seconds=config.environment.deadline_seconds)

    def plan_of(self, kind: type[Plan]) -> Plan:
        """Read the table [algorithm], without its name, as a dataclass.

        Raises:
            UnknownName: a key is unknown.
            InputError: a value has the wrong type or range.
        """
        table = {name: value for name, value in self.config.algorithm.items() if name != "name"}
        return from_table(kind, table, f"{self.config.name}: algorithm")

    def choose_programs(self) -> None:
        """Read the programs and the validation programs.

        Raises:
            InputError: there are no programs, or one cannot be read.
        """
        self.programs = choose(self.config.programs, "programs", self.task)
        self.validation = choose(self.config.validation, "validation", self.task)

    def described(self) -> dict[str, Any]:
        """Return the entries of a policy's card that all trainings share."""
        return {
            "task": self.task.id,
            "toolchain": dict(self.task.checks.toolchain()),
            "action_list_version": self.task.version,
            "options": dict(self.task.options),
            "objective": self.objective,
            "reference": self.reference,
            "algorithm": self.config.algorithm["name"],
            "programs": [part.describe() for part in self.programs.parts],
        }

    def close(self) -> None:
        """End the worker processes, if there are any."""


def begins_anew(config: Config) -> InputError:
    """Return the error for a training that takes no initial weights."""
    name = config.algorithm["name"]
    return InputError(f"{config.name}: start_from: {name} begins without a policy; leave start_from out")


def task_of(config: Config) -> Task:
    """Return the task with the configuration's options, and its objective's defaults for all others.

    Raises:
        UnknownName: there is no such task, objective or option.
        InputError: an option's value is invalid.
    """
    task = named_task(config)
    return task.configured(texts(config.options), task.objective(config.objective).name)


def texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options as texts for a task: a list is joined with commas, a list in it with spaces."""
    return {name: _text(value, ",") for name, value in options.items()}


def _text(value: Any, separator: str) -> str:
    return (
        separator.join(_text(item, " ") for item in value) if isinstance(value, (list, tuple)) else str(value)
    )
