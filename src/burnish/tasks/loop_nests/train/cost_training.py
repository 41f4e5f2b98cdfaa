"""The training of a cost model of loop nests' schedules, by burnish.tasks.tensors.train.cost_training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from burnish.core.errors import InputError
from burnish.core.guide import GuideFor
from burnish.learning.training.chosen_programs import Chosen
from burnish.learning.training.config import Config
from burnish.tasks.loop_nests.features import COLUMNS, Featurizer
from burnish.tasks.loop_nests.nest import LANGUAGE
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy.proposals import KIND, SchedulePolicy
from burnish.tasks.loop_nests.sketches import simplified
from burnish.tasks.loop_nests.train.measuring import Measurement, measure, read_measurements
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.train.cost_training import Key, ScheduleCostsPlan, ScheduleCostsTraining
from burnish.tasks.tensors.train.fitting import MeasuredProgram
from burnish.workers.worker import Limits, Worker

NARROW_BYTES = 32  # of vectors of code for AVX2


def schedule_costs(config: Config, folder: Path, note: Callable[[str], None]) -> ScheduleCostsTraining:
    """Return the training of a configuration.

    Raises:
        InputError: the configuration does not fit.
    """
    return ScheduleCostsTraining(config, folder, note, NestSchedules())


class NestSchedules:
    """Schedules of loop nests; a key's program is the nest as text."""

    language = LANGUAGE
    known = COLUMNS
    kind = KIND

    def wanted(self, programs: Chosen, plan: ScheduleCostsPlan) -> Iterator[Key]:
        """See Subject; some nests are also measured with narrower vectors."""
        wide = host().vector_bytes
        every = round(1 / plan.narrow) if plan.narrow else 0
        for number, program in enumerate(programs):
            text = str(simplified(parse(program.content.decode()))[1])
            yield text, wide
            if wide > NARROW_BYTES and every and number % every == 0:
                yield text, NARROW_BYTES

    def measure(
        self, key: Key, plan: ScheduleCostsPlan, seed: int, guide: GuideFor | None
    ) -> list[Measurement]:
        """See Subject; large nests have half as many schedules."""
        if guide and not isinstance(guide, SchedulePolicy):
            raise InputError(f"algorithm.guide: {plan.guide} is not a cost model")
        text, vector_bytes = key
        count = plan.schedules // 2 if parse(text).flops > plan.operations else plan.schedules
        with closing(Worker(Limits(deadline_seconds=plan.seconds))) as worker:
            rows: list[Measurement] = worker.call(
                measure, text, vector_bytes, count, seed, guide.model if guide else None
            )
        return rows

    def read(self, path: Path) -> list[Measurement]:
        """See Subject."""
        return read_measurements(path)

    def key(self, row: Measurement) -> Key:
        """See Subject."""
        return row.nest, row.vector_bytes

    def learned(self, rows: Sequence[Measurement]) -> MeasuredProgram:
        """See Subject."""
        featurize = Featurizer(parse(rows[0].nest), rows[0].vector_bytes)
        features = tuple(featurize.of_sketch(row.sketch) for row in rows)
        return MeasuredProgram(rows[0].nest, features, np.array([row.seconds for row in rows]))
