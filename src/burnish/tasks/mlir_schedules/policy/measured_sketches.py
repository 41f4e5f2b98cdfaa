"""Measured schedules of programs as training data: random, near the fastest, or proposed by a model."""

from __future__ import annotations

import json
import math
import zlib
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from burnish.core.errors import CompilerCrash, IllegalAction, InputError
from burnish.core.program import Program
from burnish.core.trace import Trace, split_entry
from burnish.tasks.mlir_schedules.drawing import draw, vary
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.policy.op_search import OpSearch
from burnish.tasks.mlir_schedules.session import ScheduleSession, open_program
from burnish.tasks.mlir_schedules.sketches import OpSketch, opened, trace_of
from burnish.tasks.tensors.policy.cost_model import CostModel
from burnish.workers.worker import Limits, Worker

Rng = np.random.Generator
Sketches = Mapping[str, OpSketch]

GUIDED = 0.5  # share of schedules that a cost model proposes, if there is one
DRAWN = 0.5  # share of the rest that are drawn; the others are variations of the fastest
FAVOURED = 0.4  # share of the measured schedules, the fastest ones, that are varied
DEADLINE_SECONDS = 30.0  # to compile and measure one schedule
TRIES = 10  # sketches for each schedule, at most: some fail or repeat earlier ones
OPEN = 32  # programs that a process keeps open, with their arrays


@dataclass(frozen=True)
class MeasuredSketches:
    """A schedule of a program, and the seconds of a call."""

    program: str  # its name
    lanes: int
    sketches: Sketches  # by site, of ops that are not left to LLVM
    seconds: float

    def to_json(self) -> str:
        """Return a line of JSON."""
        row = {
            "program": self.program,
            "lanes": self.lanes,
            "sketches": {site: asdict(sketch) for site, sketch in self.sketches.items()},
            "seconds": self.seconds,
        }
        return json.dumps(row)

    @classmethod
    def from_json(cls, text: str) -> MeasuredSketches:
        """Read a line of JSON, as `to_json` returns it.

        Raises:
            InputError: the line is something else.
        """
        try:
            row = json.loads(text)
            sketches = {site: _sketch(table) for site, table in row["sketches"].items()}
            return cls(row["program"], int(row["lanes"]), sketches, float(row["seconds"]))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"not a measured schedule: {error}: {text[:60]}") from None


def _sketch(table: dict[str, Any]) -> OpSketch:
    pairs = {key: tuple(map(tuple, table[key])) for key in ("tile", "blocks", "packs", "depth")}
    tails = tuple(map(_sketch, table["tails"]))
    return OpSketch(
        **pairs, partial=table["partial"], unroll=table["unroll"], hoist=table["hoist"], tails=tails
    )


def measure(
    program: Program, lanes: int, count: int, seed: int, guide: CostModel | None = None
) -> Iterator[MeasuredSketches]:
    """Yield measured schedules: a model's proposals, random sketches, then also variations of the fastest.

    A schedule is left out if it crashes or hangs, if MLIR cannot compile it, or if its results differ from
    NumPy's.

    Args:
        program: The program to schedule.
        lanes: Elements of a vector register.
        count: The number of schedules.
        seed: The seed of all choices.
        guide: The model that proposes the share GUIDED of the schedules.
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
            one = MeasuredSketches(program.name, lanes, sketches, seconds)
            insort(found, one, key=lambda measured: measured.seconds)
            yield one


def measure_trace(program: Program, trace: Trace, cold: Sequence[int] = ()) -> float:
    """Return the seconds of a call of a schedule, after a comparison with NumPy.

    Args:
        program: The program to schedule.
        trace: The actions of the schedule.
        cold: The indices of inputs that are in no cache before a call.

    Raises:
        IllegalAction, CompilerCrash: the schedule is illegal, or it cannot be compiled and measured.
    """
    session = _opened(program.digest, program).fork()
    for text in trace:
        site, action = split_entry(text)
        session.apply(session.index(action), site)
    if cold:
        seconds = session.compiled().cold_seconds(session.shared.trial.arrays, cold)
    else:
        seconds = session.measure("seconds")
    if not math.isfinite(seconds):
        raise CompilerCrash(f"{program.name}: a call takes {seconds} seconds")
    return seconds


@lru_cache(maxsize=OPEN)
def _opened(_digest: str, program: Program) -> ScheduleSession:
    return open_program(program)


def _next(ops: Mapping[str, Op], found: list[MeasuredSketches], lanes: int, rng: Rng) -> Sketches:
    """Return random sketches, or a variation of fast ones."""
    if len(found) < 6 or rng.random() < DRAWN:
        drawn = {site: draw(op, lanes, rng) for site, op in ops.items()}
        return {site: sketch for site, sketch in drawn.items() if sketch}
    place = int(FAVOURED * len(found) * rng.random() ** 2)
    return vary_one(ops, found[place].sketches, lanes, rng)


def vary_one(ops: Mapping[str, Op], sketches: Sketches, lanes: int, rng: Rng) -> Sketches:
    """Return the sketches with one of them varied; an op with more points is chosen more often."""
    names = [name for name in ops if name in sketches] or list(ops)
    weights = np.array([ops[name].points for name in names], dtype=np.float64) ** 0.5
    site = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    varied = vary(ops[site], sketches.get(site), lanes, rng)
    rest = {name: one for name, one in sketches.items() if name != site}
    return {**rest, site: varied} if varied else rest
