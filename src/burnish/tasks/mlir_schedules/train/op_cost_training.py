"""The training of a cost model of linalg ops' schedules, by burnish.tasks.tensors.train.cost_training.

Measured schedules are random, near the fastest, or proposed by a model. A key's program is its name, by which
it is loaded again.
"""

from __future__ import annotations

import zlib
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np

from burnish.core.errors import CompilerCrash, IllegalAction
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.learning.training.chosen_programs import Chosen
from burnish.tasks.mlir_schedules.drawing import draw, vary
from burnish.tasks.mlir_schedules.features import COLUMNS, ELEMENT, features
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.policy.independent_ops import measure_trace
from burnish.tasks.mlir_schedules.policy.op_proposals import KIND
from burnish.tasks.mlir_schedules.policy.op_search import OpSearch
from burnish.tasks.mlir_schedules.programs import MlirSource
from burnish.tasks.mlir_schedules.reading import LANGUAGE
from burnish.tasks.mlir_schedules.reference.work import flops
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.mlir_schedules.sketches import OpSketch, opened, trace_of
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.cost_model import CostModel, Floats
from burnish.tasks.tensors.train.cost_training import ScheduleCostsPlan, ScheduleCostsTraining, Subject
from burnish.tasks.tensors.train.measuring import Key
from burnish.workers.worker import Limits, Worker

Rng = np.random.Generator
Sketches = Mapping[str, OpSketch]

GUIDED = 0.5  # share of schedules that a cost model proposes, if there is one
DRAWN = 0.5  # share of the rest that are drawn; the others are variations of the fastest
FAVOURED = 0.4  # share of the measured schedules, the fastest ones, that are varied
DEADLINE_SECONDS = 30.0  # to compile and measure one schedule
TRIES = 10  # sketches for each schedule, at most: some fail or repeat earlier ones


@dataclass(frozen=True)
class MeasuredSketches:
    """A schedule of a program, and the seconds of a call."""

    program: str  # its name
    lanes: int
    sketches: Sketches  # by site, of ops that are not left to LLVM
    seconds: float
    machine: str = ""  # the CPU that it was measured on, by LLVM's name; "" if unknown

    @property
    def key(self) -> Key:
        """The program and the size of vectors."""
        return self.program, self.lanes * ELEMENT


def measure(
    program: Program, lanes: int, count: int, seed: int, guide: CostModel | None = None
) -> Iterator[MeasuredSketches]:
    """Yield measured schedules: a model's proposals, random sketches, then also variations of the fastest.

    A schedule is left out if it crashes or hangs, if MLIR cannot compile it, or if its results differ from
    NumPy's.
    A guide proposes the share GUIDED of them. `lanes` are the elements of a vector register.
    """
    rng = np.random.default_rng([seed, zlib.crc32(program.content)])
    before, ops = opened(open_program(program))
    search = OpSearch(ops, guide) if guide else None
    found: list[MeasuredSketches] = []
    seen: set[Trace] = set()
    with closing(Worker(Limits(deadline_seconds=DEADLINE_SECONDS))) as worker:
        for _ in range(TRIES * count):
            if len(found) >= count:
                break
            proposed = search.next() if search and rng.random() < GUIDED else None
            sketches = proposed.sketches if proposed else _next(ops, found, lanes, rng)
            trace = (*before, *trace_of(ops, sketches))
            if trace in seen:
                continue
            seen.add(trace)
            try:
                seconds = worker.call(measure_trace, program, trace)
            except (CompilerCrash, IllegalAction):
                continue
            if search and proposed:
                search.measured(proposed, seconds)
            one = MeasuredSketches(program.name, lanes, sketches, seconds, host().cpu)
            insort(found, one, key=lambda measured: measured.seconds)
            yield one


def _next(ops: Mapping[str, Op], found: list[MeasuredSketches], lanes: int, rng: Rng) -> Sketches:
    """Return random sketches, or a variation of fast ones."""
    if len(found) < 6 or rng.random() < DRAWN:
        drawn = {site: draw(op, lanes, rng) for site, op in ops.items()}
        return {site: sketch for site, sketch in drawn.items() if sketch}
    place = int(FAVOURED * len(found) * rng.random() ** 2)
    return _vary_one(ops, found[place].sketches, lanes, rng)


def _vary_one(ops: Mapping[str, Op], sketches: Sketches, lanes: int, rng: Rng) -> Sketches:
    """Return the sketches with one of them varied; an op with more points is chosen more often."""
    names = [name for name in ops if name in sketches] or list(ops)
    weights = np.array([ops[name].points for name in names], dtype=np.float64) ** 0.5
    site = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    varied = vary(ops[site], sketches.get(site), lanes, rng)
    rest = {name: one for name, one in sketches.items() if name != site}
    return {**rest, site: varied} if varied else rest


def _wanted(programs: Chosen, plan: ScheduleCostsPlan) -> Iterator[Key]:
    """Yield names of programs; those with more than `plan.operations` operations are left out."""
    for program in programs:
        if flops(program.content.decode()) <= plan.operations:
            yield program.name, host().vector_bytes


def _measure(
    key: Key, plan: ScheduleCostsPlan, seed: int, guide: CostModel | None
) -> Iterator[MeasuredSketches]:
    return measure(MlirSource().load(key[0]).program, key[1] // ELEMENT, plan.schedules, seed, guide)


def _features(rows: Sequence[MeasuredSketches]) -> tuple[Floats, ...]:
    _, ops = opened(open_program(MlirSource().load(rows[0].program).program))
    return tuple(features(ops, row.sketches, row.lanes) for row in rows)


OPS = Subject(LANGUAGE, COLUMNS, KIND, MeasuredSketches, _wanted, _measure, _features)
op_schedule_costs = partial(ScheduleCostsTraining, subject=OPS)
