"""The contract holds where sites are born and die, and nothing is ever legal on the whole program."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from burnish.core.program import Program
from burnish.core.task import Task
from tests.conformance import TaskConformance
from tests.core.splitting_task import TASK, pieces


class TestSplitting(TaskConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def task(cls) -> Task:
        return TASK

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return [pieces("8 5"), pieces("9 9 7")]
