"""A search of sketches for every op of a program, in the order in which a cost model likes them.

Ops are apart in the model: each has a pool of its own, and the first candidate takes the best of every pool.
Later ones change one op at a time, that with much time more often; a variation of what was measured is
expected to take what that took, times the model's ratio of the two.
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

FIRST = 24  # sketches of an op, which tell how much time it has
DRAWN = 240  # sketches of an op that has more than next to none
NEGLECTED = 0.002  # the share of all time below which ops are left as the model has them
VARIED = 80  # in each of the rounds after that
ROUNDS = 3
PARENTS = 10  # of the variations
NEAR = 16  # variations of a good schedule for each that is measured
NEW = 0.2  # of the proposals take the model's next ones, not near the best

Rng = np.random.Generator


@dataclass(order=True)
class SketchChoice:
    """A sketch of an op, or None: it is left to LLVM."""

    predicted: float  # seconds, by the model
    number: int
    sketch: OpSketch | None = field(compare=False)


@dataclass(order=True)
class SketchChoices:
    """What is chosen for each op of a program."""

    score: float  # log2 of the seconds that are expected
    number: int
    choices: Mapping[str, SketchChoice] = field(compare=False)

    @property
    def predicted(self) -> float:
        """The seconds of all ops, by the model."""
        return sum(choice.predicted for choice in self.choices.values())

    @property
    def sketches(self) -> dict[str, OpSketch]:
        """Those of the ops that are not left to LLVM."""
        return {site: choice.sketch for site, choice in self.choices.items() if choice.sketch}


Pools = Mapping[str, list[SketchChoice]]


class OpSearch:
    """A program's candidates: choices for every op.

    Attributes:
        ops: By site.
        pools: By site, an op's sketches, the best by the model first.
    """

    def __init__(self, ops: Mapping[str, Op], model: CostModel, pools: Pools | None = None) -> None:
        """Take the model of what sketches of ops take, and the pools, where they are known."""
        self.ops, self.model = ops, model
        self.count = 0  # of what was made: ties are in this order
        self.lanes = host().vector_bytes // ELEMENT
        text = "".join(f"{site}{op.extents}" for site, op in ops.items())
        self.rng = np.random.default_rng(zlib.crc32(text.encode()))
        self.pools = pools or self._pools()
        self.best: list[SketchChoices] = []  # that were measured, a heap
        self.waiting: list[SketchChoices] = []  # a heap
        self._push({site: pool[0] for site, pool in self.pools.items()})
        self._alternatives(self.waiting[0].choices, 4 * NEAR)

    def next_is(self, choices: Mapping[str, SketchChoice]) -> None:
        """Let what is best for some ops be the next candidate, in the fastest one, or the model's."""
        known = self.best[0].choices if self.best else {site: pool[0] for site, pool in self.pools.items()}
        self._push({**known, **choices}, -math.inf)

    def next(self) -> SketchChoices | None:
        """Return the most promising candidate; None where there is no more."""
        for _ in range(3):
            if self.waiting:
                return heapq.heappop(self.waiting)
            if self.best:
                self._alternatives(self.best[0].choices, NEAR)
        return None

    def measured(self, candidate: SketchChoices, seconds: float) -> None:
        """Learn what a candidate takes: what is near the best few is worth a try."""
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
        """Draw an op, by what it is expected to take."""
        sites = list(choices)
        times = np.array([choices[site].predicted for site in sites])
        return sites[int(self.rng.choice(len(sites), p=times / times.sum()))]

    def _push(self, choices: Mapping[str, SketchChoice], score: float | None = None) -> None:
        self.count += 1
        candidate = SketchChoices(0.0, self.count, choices)
        candidate.score = math.log2(candidate.predicted) if score is None else score
        heapq.heappush(self.waiting, candidate)

    def _pools(self) -> Pools:
        """Return the pools; ops that are alike have the same."""
        alike = {site: replace(op, site="", reads=()) for site, op in self.ops.items()}
        found: dict[Op, dict[OpSketch | None, SketchChoice]] = {}
        for op in dict.fromkeys(alike.values()):
            found[op] = {None: self._choice(op, None)}
            self._draw(found[op], op, FIRST)
        counts = Counter(alike.values())
        times = {op: counts[op] * min(pool.values()).predicted for op, pool in found.items()}
        least = NEGLECTED * sum(times.values())
        for op, pool in found.items():
            if times[op] > least:
                self._draw(pool, op, DRAWN - FIRST)
                self._vary(pool, op)
        pools = {op: sorted(pool.values()) for op, pool in found.items()}
        return {site: pools[op] for site, op in alike.items()}

    def _draw(self, found: dict[OpSketch | None, SketchChoice], op: Op, count: int) -> None:
        self._add(found, op, [draw(op, self.lanes, self.rng) for _ in range(count)])

    def _vary(self, found: dict[OpSketch | None, SketchChoice], op: Op) -> None:
        """Add variations of the best by the model."""
        for _ in range(ROUNDS):
            best = heapq.nsmallest(PARENTS, found.values())
            parents = [best[int(self.rng.random() * len(best))] for _ in range(VARIED)]
            self._add(found, op, [vary(op, one.sketch, self.lanes, self.rng) for one in parents])

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
