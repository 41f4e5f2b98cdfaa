"""A search of sketches for every op of a program, in the order of a cost model.

The model predicts each op's time independently. Each op has its own pool of sketches, and the first candidate
takes the best of every pool. Later candidates change one op, chosen with probability proportional to its
predicted time. The predicted time of a variation is its parent's measured time, times the model's ratio.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from burnish.tasks.mlir_schedules.drawing import draw, vary
from burnish.tasks.mlir_schedules.features import ELEMENT, rows_of
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.sketches import OpSketch
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.cost_model import CostModel

FIRST = 24  # sketches drawn for each op, to predict its share of the time
DRAWN = 240  # sketches drawn for an op that takes more than NEGLECTED of the time
NEGLECTED = 0.002  # share of all time; ops below it get no more sketches, and are not measured independently
VARIED = 80  # variations in each round after that
ROUNDS = 3  # of variations
PARENTS = 10  # best sketches that are varied
NEAR = 16  # variations of the best schedules, for each schedule that is measured
NEW = 0.2  # share of these variations that take a sketch of the op's pool, instead of varying its sketch

Rng = np.random.Generator


@dataclass(order=True)
class SketchChoice:
    """A sketch of an op; None leaves the op to LLVM."""

    predicted: float  # seconds, by the model
    number: int
    sketch: OpSketch | None = field(compare=False)


@dataclass(order=True)
class SketchChoices:
    """A candidate: the choice for each op of a program."""

    score: float  # log2 of the expected seconds; of the measured ones once it is measured
    number: int
    choices: Mapping[str, SketchChoice] = field(compare=False)

    @property
    def predicted(self) -> float:
        """The predicted seconds of all ops together."""
        return sum(choice.predicted for choice in self.choices.values())

    @property
    def sketches(self) -> dict[str, OpSketch]:
        """The sketches by site, without ops that are left to LLVM."""
        return {site: choice.sketch for site, choice in self.choices.items() if choice.sketch}


Pools = Mapping[str, list[SketchChoice]]


class OpSearch:
    """The candidates of a program: choices for every op.

    Attributes:
        ops: The ops by site.
        pools: The choices of each op by site, the best by the model first.
    """

    def __init__(self, ops: Mapping[str, Op], model: CostModel, pools: Pools | None = None) -> None:
        """Take the ops, the model that predicts the time of sketches, and the pools, if they are known."""
        self.ops, self.model = ops, model
        self.count = 0  # of choices and candidates; ties are in the order of this number
        self.lanes = host().vector_bytes // ELEMENT
        text = "".join(f"{site}{op.extents}" for site, op in ops.items())
        self.rng = np.random.default_rng(zlib.crc32(text.encode()))
        self.pools = pools or self._pools()
        self.best: list[SketchChoices] = []  # measured candidates, a heap
        self.waiting: list[SketchChoices] = []  # candidates to propose, a heap
        self._push({site: pool[0] for site, pool in self.pools.items()})
        self._alternatives(self.waiting[0].choices, 4 * NEAR)

    def next_is(self, choices: Mapping[str, SketchChoice]) -> None:
        """Propose some ops' choices next; other ops keep the fastest candidate's, or the model's best."""
        known = self.best[0].choices if self.best else {site: pool[0] for site, pool in self.pools.items()}
        self._push({**known, **choices}, -math.inf)

    def next(self) -> SketchChoices | None:
        """Return the most promising candidate; None if there are no more."""
        for _ in range(3):
            if self.waiting:
                return heapq.heappop(self.waiting)
            if self.best:
                self._alternatives(self.best[0].choices, NEAR)
        return None

    def measured(self, candidate: SketchChoices, seconds: float) -> None:
        """Record the seconds of a candidate, and add variations of the best measured ones."""
        score = math.log2(seconds)
        heapq.heappush(self.best, SketchChoices(score, candidate.number, candidate.choices))
        parents = heapq.nsmallest(4, self.best)
        for _ in range(NEAR):
            parent = parents[min(len(parents) - 1, int(self.rng.exponential(1.0)))]
            self._near(parent)

    def _near(self, parent: SketchChoices) -> None:
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

    def _alternatives(self, choices: Mapping[str, SketchChoice], count: int) -> None:
        """Add candidates in which one op has another of its pool's best sketches."""
        for place in range(1, 1 + count):
            site = self._site(choices)
            pool = self.pools[site]
            self._push({**choices, site: pool[min(place, len(pool) - 1)]})

    def _site(self, choices: Mapping[str, SketchChoice]) -> str:
        """Draw an op, with probability proportional to its predicted time."""
        sites = list(choices)
        times = np.array([choices[site].predicted for site in sites])
        return sites[int(self.rng.choice(len(sites), p=times / times.sum()))]

    def _push(self, choices: Mapping[str, SketchChoice], score: float | None = None) -> None:
        self.count += 1
        candidate = SketchChoices(0.0, self.count, choices)
        candidate.score = math.log2(candidate.predicted) if score is None else score
        heapq.heappush(self.waiting, candidate)

    def _pools(self) -> Pools:
        """Return the pools by site; equal ops have the same pool."""
        alike = {site: replace(op, site="", reads=()) for site, op in self.ops.items()}
        found: dict[Op, dict[OpSketch | None, SketchChoice]] = {}
        for op in dict.fromkeys(alike.values()):
            found[op] = {None: self._choice(op, None)}
            self._add(found[op], op, [draw(op, self.lanes, self.rng) for _ in range(FIRST)])
        counts = Counter(alike.values())
        times = {op: counts[op] * min(pool.values()).predicted for op, pool in found.items()}
        least = NEGLECTED * sum(times.values())
        for op, pool in found.items():
            if times[op] > least:
                self._add(pool, op, [draw(op, self.lanes, self.rng) for _ in range(DRAWN - FIRST)])
                for _ in range(ROUNDS):  # variations of the best sketches by the model
                    best = heapq.nsmallest(PARENTS, pool.values())
                    parents = [best[int(self.rng.random() * len(best))] for _ in range(VARIED)]
                    self._add(pool, op, [vary(op, one.sketch, self.lanes, self.rng) for one in parents])
        pools = {op: sorted(pool.values()) for op, pool in found.items()}
        return {site: pools[op] for site, op in alike.items()}

    def _add(
        self, found: dict[OpSketch | None, SketchChoice], op: Op, sketches: list[OpSketch | None]
    ) -> None:
        new = [sketch for sketch in dict.fromkeys(sketches) if sketch not in found]
        for sketch, seconds in zip(new, self._seconds(op, new), strict=True):
            self.count += 1
            found[sketch] = SketchChoice(seconds, self.count, sketch)

    def _choice(self, op: Op, sketch: OpSketch | None) -> SketchChoice:
        self.count += 1
        return SketchChoice(self._seconds(op, [sketch])[0], self.count, sketch)

    def _seconds(self, op: Op, sketches: list[OpSketch | None]) -> list[float]:
        rows = [np.array(rows_of(op, sketch, self.lanes), dtype=np.float32) for sketch in sketches]
        return [float(one) for one in np.exp2(self.model.log2_seconds(rows).astype(np.float64))]
