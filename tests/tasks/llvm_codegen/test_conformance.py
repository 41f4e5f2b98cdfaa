"""The tasks keep the contract."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from burnish.core.program import Program
from burnish.tasks.llvm_codegen import TASK
from burnish.tasks.llvm_inlining_passes_and_codegen import TASK as ALL_THREE
from burnish.tasks.llvm_passes_and_codegen import TASK as STAGED
from tests.conformance import TaskConformance
from tests.sources import program
from tests.tasks.llvm_codegen.modules import LOOP, module


class TestLLVMCodegen(TaskConformance):
    tested = TASK
    steps = 5

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return [module(), module(LOOP, "without many")]


@pytest.mark.slow
class TestLLVMPassesAndCodegen(TaskConformance):
    tested = STAGED

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return [program("hash_table.c"), program("structs.c")]


@pytest.mark.slow
class TestAllThree(TestLLVMPassesAndCodegen):
    tested = ALL_THREE
