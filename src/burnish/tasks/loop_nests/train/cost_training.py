"""The trainings of models of loop nests' schedules, by burnish.tasks.tensors.train.cost_training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

from burnish.learning.training.chosen_programs import Chosen
from burnish.tasks.loop_nests.features import COLUMNS, Featurizer
from burnish.tasks.loop_nests.nest import LANGUAGE
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy import tournament
from burnish.tasks.loop_nests.policy.proposals import KIND
from burnish.tasks.loop_nests.sketches import simplified
from burnish.tasks.loop_nests.train.measuring import Measurement, measure
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.comparison_model import ComparisonModel
from burnish.tasks.tensors.policy.cost_model import CostModel, Floats
from burnish.tasks.tensors.train.comparison_fitting import fit_comparison
from burnish.tasks.tensors.train.cost_training import ScheduleCostsPlan, ScheduleCostsTraining, Subject
from burnish.tasks.tensors.train.measuring import Key
from burnish.workers.worker import Limits, Worker

NARROW_BYTES = 32  # of vectors of code for AVX2


def _wanted(programs: Chosen, plan: ScheduleCostsPlan) -> Iterator[Key]:
    """Yield nests as text; some are also measured with narrower vectors."""
    wide = host().vector_bytes
    every = round(1 / plan.narrow) if plan.narrow else 0
    for number, program in enumerate(programs):
        text = str(simplified(parse(program.content.decode()))[1])
        yield text, wide
        if wide > NARROW_BYTES and every and number % every == 0:
            yield text, NARROW_BYTES


def _measure(key: Key, plan: ScheduleCostsPlan, seed: int, guide: CostModel | None) -> list[Measurement]:
    """Measure a nest in a worker; large nests have half as many schedules."""
    text, vector_bytes = key
    count = plan.schedules // 2 if parse(text).flops > plan.operations else plan.schedules
    with closing(Worker(Limits(deadline_seconds=plan.seconds))) as worker:
        rows: list[Measurement] = worker.call(measure, text, vector_bytes, count, seed, guide)
    return rows


def _features(rows: Sequence[Measurement]) -> tuple[Floats, ...]:
    featurize = Featurizer(parse(rows[0].nest), rows[0].vector_bytes)
    return tuple(featurize.of_sketch(row.sketch) for row in rows)


NESTS = Subject(LANGUAGE, COLUMNS, KIND, Measurement, _wanted, _measure, _features)
COMPARED = replace(NESTS, kind=tournament.KIND, fit=fit_comparison, model=ComparisonModel)
schedule_costs = partial(ScheduleCostsTraining, subject=NESTS)
schedule_comparison = partial(ScheduleCostsTraining, subject=COMPARED)
