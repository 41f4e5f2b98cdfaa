"""A policy of schedules: sketches in the order in which a cost model likes them, then what is near the best.

Ops are apart in the model: each has a pool of its own, and the first trace takes the best of every pool.
Later ones change one op at a time, that with much time more often; a variation of what was measured is
expected to take what that took, times the model's ratio of the two.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from burnish.core.errors import InputError
from burnish.core.guide import Guide, InitialTraces
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.loops.cost_model import CostModel, load_cost_model
from burnish.tasks.loop_nests.kernel import host
from burnish.tasks.mlir_schedules.drawing import draw, vary
from burnish.tasks.mlir_schedules.features import COLUMNS, ELEMENT, rows_of
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.reading import LANGUAGE
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.mlir_schedules.sketches import OpSketch, opened, trace_of

KIND = "op-schedule-costs"
DRAWN = 240  # sketches of an op
VARIED = 80  # in each of the rounds after that
ROUNDS = 3
PARENTS = 10  # of the variations
NEAR = 16  # variations of a good schedule for each that is measured
NEW = 0.2  # of the proposals take the model's next ones, not near the best

Rng = np.random.Generator


@dataclass(frozen=True)
class OpSchedulePolicy:
    """An adviser for searches of linalg programs."""

    model: CostModel

    @property
    def objective(self) -> str:
        """What it was made for."""
        return self.model.objective

    def __call__(self, session: Session) -> Guide:
        """Propose schedules of the program that is open."""
        text = session.observe("program")
        assert isinstance(text, str)
        before, ops = opened(open_program(Program("program", LANGUAGE, text.encode())))
        return Guide(propose(before, ops, self.model), searches=True)

    def distance(self, _task: Task) -> float:
        """Return how far the machine that was measured is from this one, by the width of vectors."""
        return abs(math.log2(self.model.vector_bytes / host().vector_bytes))


@dataclass(order=True)
class _Choice:
    """A sketch of an op, or None: it is left to LLVM."""

    predicted: float  # seconds, by the model
    number: int
    sketch: OpSketch | None = field(compare=False)


@dataclass(order=True)
class _Choices:
    score: float  # log2 of the seconds that are expected
    number: int
    choices: Mapping[str, _Choice] = field(compare=False)

    @property
    def predicted(self) -> float:
        """The seconds of all ops, by the model."""
        return sum(choice.predicted for choice in self.choices.values())


def propose(before: Trace, ops: Mapping[str, Op], model: CostModel) -> InitialTraces:
    """Yield traces, the most promising first; sent what each costs in seconds.

    Args:
        before: The actions by which the program gets its ops.
        ops: By site.
        model: Of what their sketches take.
    """
    search = _ProgramSearch(ops, model)
    seen: set[Trace] = set()
    while candidate := search.next():
        sketches = {site: one.sketch for site, one in candidate.choices.items() if one.sketch}
        trace = (*before, *trace_of(ops, sketches))
        if trace in seen:
            continue
        seen.add(trace)
        cost = yield trace
        if cost is not None and math.isfinite(cost):
            search.measured(candidate, cost)


class _ProgramSearch:
    """Programs' candidates: choices for every op."""

    def __init__(self, ops: Mapping[str, Op], model: CostModel) -> None:
        self.ops, self.model = ops, model
        self.count = 0  # of what was made: ties are in this order
        self.lanes = host().vector_bytes // ELEMENT
        text = "".join(f"{site}{op.extents}" for site, op in ops.items())
        self.rng = np.random.default_rng(zlib.crc32(text.encode()))
        self.pools = {site: self._pool(op) for site, op in ops.items()}
        self.best: list[_Choices] = []  # that were measured, a heap
        self.waiting: list[_Choices] = []  # a heap
        self._push({site: pool[0] for site, pool in self.pools.items()})
        self._alternatives(self.waiting[0].choices, 4 * NEAR)

    def next(self) -> _Choices | None:
        """Return the most promising candidate; None where there is no more."""
        for _ in range(3):
            if self.waiting:
                return heapq.heappop(self.waiting)
            if self.best:
                self._alternatives(self.best[0].choices, NEAR)
        return None

    def measured(self, candidate: _Choices, seconds: float) -> None:
        """Learn what a candidate takes: what is near the best few is worth a try."""
        score = math.log2(seconds)
        heapq.heappush(self.best, _Choices(score, candidate.number, candidate.choices))
        parents = heapq.nsmallest(4, self.best)
        for _ in range(NEAR):
            parent = parents[min(len(parents) - 1, int(self.rng.exponential(1.0)))]
            self._near(parent)

    def _near(self, parent: _Choices) -> None:
        site = self._site(parent.choices)
        before = parent.choices[site]
        if self.rng.random() < NEW:
            choice = self.pools[site][int(len(self.pools[site]) * self.rng.random() ** 3)]
        else:
            sketch = vary(self.ops[site], before.sketch, self.lanes, self.rng)
            choice = self._choice(self.ops[site], sketch)
        if choice.sketch != before.sketch:
            expected = parent.predicted - before.predicted + choice.predicted
            score = parent.score + math.log2(expected / parent.predicted)
            self._push({**parent.choices, site: choice}, score)

    def _alternatives(self, choices: Mapping[str, _Choice], count: int) -> None:
        """Add candidates in which one op has another of its pool's best sketches."""
        for place in range(1, 1 + count):
            site = self._site(choices)
            pool = self.pools[site]
            self._push({**choices, site: pool[min(place, len(pool) - 1)]})

    def _site(self, choices: Mapping[str, _Choice]) -> str:
        """Draw an op, by what it is expected to take."""
        sites = list(choices)
        times = np.array([choices[site].predicted for site in sites])
        return sites[int(self.rng.choice(len(sites), p=times / times.sum()))]

    def _push(self, choices: Mapping[str, _Choice], score: float | None = None) -> None:
        self.count += 1
        candidate = _Choices(0.0, self.count, choices)
        candidate.score = math.log2(candidate.predicted) if score is None else score
        heapq.heappush(self.waiting, candidate)

    def _pool(self, op: Op) -> list[_Choice]:
        """Return an op's sketches, the best by the model first."""
        found: dict[OpSketch | None, _Choice] = {None: self._choice(op, None)}
        self._add(found, op, [draw(op, self.lanes, self.rng) for _ in range(DRAWN)])
        for _ in range(ROUNDS):
            best = heapq.nsmallest(PARENTS, found.values())
            parents = [best[int(self.rng.random() * len(best))] for _ in range(VARIED)]
            self._add(found, op, [vary(op, one.sketch, self.lanes, self.rng) for one in parents])
        return sorted(found.values())

    def _add(self, found: dict[OpSketch | None, _Choice], op: Op, sketches: list[OpSketch | None]) -> None:
        new = [sketch for sketch in dict.fromkeys(sketches) if sketch not in found]
        for sketch, seconds in zip(new, self._seconds(op, new), strict=True):
            self.count += 1
            found[sketch] = _Choice(seconds, self.count, sketch)

    def _choice(self, op: Op, sketch: OpSketch | None) -> _Choice:
        self.count += 1
        return _Choice(self._seconds(op, [sketch])[0], self.count, sketch)

    def _seconds(self, op: Op, sketches: list[OpSketch | None]) -> list[float]:
        rows = [np.array(rows_of(op, sketch, self.lanes), dtype=np.float32) for sketch in sketches]
        return [float(one) for one in np.exp2(self.model.log2_seconds(rows).astype(np.float64))]


def load_for(path: Path, task: Task) -> OpSchedulePolicy:
    """Read a cost model as a policy for a task; see burnish.policies.find.

    Raises:
        InputError: it is none, or for another task.
    """
    model = load_cost_model(path, COLUMNS, KIND)
    if model.task != task.id:
        raise InputError(f"{path}: a policy for {model.task}, and this is {task.id}; train it anew")
    return OpSchedulePolicy(model)
