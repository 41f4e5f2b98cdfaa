"""The contract holds for loop nests."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from burnish.core.program import Program
from burnish.core.task import Task
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.parsing import parse
from tests.conformance import TaskConformance


class TestLoopNests(TaskConformance):
    noise = 3.0  # microseconds, on a machine that others use

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls) -> Task:
        return TASK

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return [
            parse("f32 m=20 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]").program("product"),
            parse("f32 m=20 n=24\nr[m] += a[m,n]\nq[m,n] = a[m,n] / r[m]").program("shares"),
        ]
