"""What all claims are about: a task, and some of its programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest

from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.envs.env import Env
from tests.walks import NEAR


class Claims:
    """Whoever inherits them says which task, and which programs: two or more, small, of other first costs."""

    tested: ClassVar[Task]
    examples: ClassVar[Sequence[Program]]
    steps = 8  # of a random walk
    noise = 0.0  # of a noisy objective: by how much two measurements of one state may differ, relatively

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls) -> Task:
        return cls.tested

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return cls.examples

    @pytest.fixture(scope="class")
    @classmethod
    def objectives(cls, task: Task, programs: Sequence[Program]) -> Sequence[Objective]:
        """Return the exact objectives; of a task without any, those that the programs have."""
        runnable = all(program.workload for program in programs)
        found = [objective for objective in task.objectives.values() if objective.exact]
        found = found or [one for one in task.objectives.values() if runnable or not one.needs_workload]
        assert found, "there is nothing to measure: give programs that can be run"
        return found

    @pytest.fixture(scope="class")
    @classmethod
    def shared_env(cls, task: Task, programs: Sequence[Program]) -> Iterator[Env]:
        env = Env(task, programs, sites=NEAR, dense=True)
        yield env
        env.close()

    def tolerance(self, objective: Objective) -> float:
        """Return by how much the logs of two costs of one state may differ."""
        return math.log1p(self.noise) if objective.noisy else 0.0

    def assert_cost(self, objective: Objective, one: float, other: float) -> None:
        """Assert that two costs are of one state."""
        assert one == other or abs(math.log(one) - math.log(other)) <= self.tolerance(objective)

    def assert_costs(self, objectives: Sequence[Objective], one: Session, other: Session) -> None:
        """Assert that two sessions cost the same."""
        for objective in objectives:
            self.assert_cost(objective, one.measure(objective.name), other.measure(objective.name))
