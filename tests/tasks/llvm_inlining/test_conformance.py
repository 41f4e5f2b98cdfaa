"""The task keeps the contract."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from burnish.core.program import Program
from burnish.tasks.llvm_inlining import TASK
from tests.conformance import TaskConformance
from tests.sources import program


class TestLLVMInlining(TaskConformance):
    tested = TASK

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return [program("hash_table.c"), program("classes.cpp")]
