"""The training of a cost model of linalg ops' schedules, by burnish.tasks.tensors.train.cost_training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burnish.core.program import Program
from burnish.learning.training.chosen_programs import Chosen
from burnish.learning.training.config import Config
from burnish.tasks.mlir_schedules.features import COLUMNS, ELEMENT, features
from burnish.tasks.mlir_schedules.policy.measured_sketches import MeasuredSketches, measure
from burnish.tasks.mlir_schedules.policy.op_proposals import KIND
from burnish.tasks.mlir_schedules.programs import MlirSource
from burnish.tasks.mlir_schedules.reading import LANGUAGE
from burnish.tasks.mlir_schedules.reference.work import flops
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.mlir_schedules.sketches import opened
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.cost_model import CostModel
from burnish.tasks.tensors.train.cost_training import Key, ScheduleCostsPlan, ScheduleCostsTraining
from burnish.tasks.tensors.train.fitting import MeasuredProgram
from burnish.tasks.tensors.train.measuring import read_rows


def op_schedule_costs(config: Config, folder: Path, note: Callable[[str], None]) -> ScheduleCostsTraining:
    """Return the training of a configuration.

    Raises:
        InputError: the configuration does not fit.
    """
    return ScheduleCostsTraining(config, folder, note, OpSchedules())


class OpSchedules:
    """Schedules of linalg programs; a key's program is its name, by which it is loaded again."""

    language = LANGUAGE
    known = COLUMNS
    kind = KIND

    def wanted(self, programs: Chosen, plan: ScheduleCostsPlan) -> Iterator[Key]:
        """See Subject; programs with more than `plan.operations` operations are left out."""
        for program in programs:
            if flops(program.content.decode()) <= plan.operations:
                yield program.name, host().vector_bytes

    def measure(
        self, key: Key, plan: ScheduleCostsPlan, seed: int, guide: CostModel | None
    ) -> Iterator[MeasuredSketches]:
        """See Subject."""
        return measure(_program(key[0]), key[1] // ELEMENT, plan.schedules, seed, guide)

    def read(self, path: Path) -> list[MeasuredSketches]:
        """See Subject."""
        return read_rows(path, MeasuredSketches.from_json)

    def key(self, row: MeasuredSketches) -> Key:
        """See Subject."""
        return row.program, row.lanes * ELEMENT

    def learned(self, rows: Sequence[Any]) -> MeasuredProgram:
        """See Subject."""
        _, ops = opened(open_program(_program(rows[0].program)))
        found = tuple(features(ops, row.sketches, row.lanes) for row in rows)
        return MeasuredProgram(rows[0].program, found, np.array([row.seconds for row in rows]))


def _program(name: str) -> Program:
    return MlirSource().load(name).program
