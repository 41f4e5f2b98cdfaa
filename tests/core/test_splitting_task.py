"""The contract holds where sites are born and die, and nothing is ever legal on the whole program."""

from __future__ import annotations

from tests.conformance import TaskConformance
from tests.core.splitting_task import TASK, pieces


class TestSplitting(TaskConformance):
    tested = TASK
    examples = (pieces("8 5"), pieces("9 9 7"))
