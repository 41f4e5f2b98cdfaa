"""The contract holds for MLIR's schedules."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from burnish.core.program import Program
from burnish.core.task import Task
from burnish.tasks.mlir_schedules import TASK
from tests.conformance import TaskConformance
from tests.tasks.mlir_schedules.small import small


class TestMlirSchedules(TaskConformance):
    noise = 3.0  # microseconds, on a machine that others use

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls) -> Task:
        return TASK

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return [small("matmul"), small("softmax"), small("layer")]


@pytest.mark.slow
class TestMlirSchedulesInOrder(TestMlirSchedules):
    @pytest.fixture(scope="class")
    @classmethod
    def task(cls) -> Task:
        return TASK.configured(
            {"order": "interchange,not interchange next done,not interchange,any", "interchange": "levels"}
        )
