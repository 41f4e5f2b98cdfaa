"""The contract holds for binaryen's passes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from burnish.core.program import Program
from burnish.tasks.wasm_passes import TASK
from tests.conformance import TaskConformance
from tests.tasks.wasm_passes.modules import constants, count


class TestWasmPasses(TaskConformance):
    tested = TASK
    steps = 6

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return [count(), constants()]
