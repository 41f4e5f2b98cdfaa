"""The policy of a cost model: a guide of searches that proposes schedules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.guide import Guide, InitialTraces
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.cost_model import CostModel, load_cost_model

Propose = Callable[[Session, CostModel], InitialTraces]
"""A function that proposes schedules of the session's program, most promising first."""


@dataclass(frozen=True)
class SchedulePolicy:
    """Guides for searches of schedules."""

    model: CostModel
    propose: Propose

    @property
    def objective(self) -> str:
        """The objective that the model predicts."""
        return self.model.objective

    def __call__(self, session: Session) -> Guide:
        """Return a guide that proposes schedules of the session's program."""
        return Guide(self.propose(session, self.model), searches=True)

    def distance(self, _task: Task) -> float:
        """Return the distance from the measured machine to this one: log2 of the ratio of vector sizes."""
        return abs(math.log2(self.model.vector_bytes / host().vector_bytes))


def load_policy(
    path: Path, task: Task, known: tuple[str, ...], kind: str, propose: Propose
) -> SchedulePolicy:
    """Read a cost model as a policy for a task; see `load_cost_model`.

    Raises:
        InputError: the file is not a cost model, or is for another task.
    """
    model = load_cost_model(path, known, kind)
    if model.task != task.id:
        raise InputError(f"{path}: a policy for {model.task}, and this is {task.id}; train it anew")
    return SchedulePolicy(model, propose)
