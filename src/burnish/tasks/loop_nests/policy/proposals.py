"""A policy of schedules: sketches in the order of a cost model, then variations of the best.

The first trace is the policy's choice without measuring. Later ones use the measured times of earlier ones:
the predicted time of a variation is its parent's measured time, times the model's ratio of the two.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from burnish.core.guide import InitialTraces
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.features import COLUMNS, Featurizer, features_of_tree
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.session import NestSession
from burnish.tasks.loop_nests.sketches import Sketch, simplified, trace_of
from burnish.tasks.loop_nests.variation import vary
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.cost_model import CostModel, Floats, load_policy

SketchProposals = Generator[tuple[Sketch, Trace], float | None, None]
"""Yields sketches with their traces, most promising first; the caller sends the cost of each in seconds."""

KIND = "schedule-costs"
DRAWN = 380  # sketches to draw, divided by the number of statements
VARIED = 110  # variations in each round after that, divided in the same way
ROUNDS = 3  # of variations
PARENTS = 12  # best sketches that are varied
NEAR = 10  # variations of the best schedules, for each schedule that is measured
FRUITLESS = 8  # times to draw sketches without a legal one, before giving up
NEW = 0.15  # share of proposals by the model's rank alone, instead of variations of the best


@dataclass(order=True)
class _Candidate:
    score: float  # log2 of the expected seconds; of the measured ones once it is measured
    number: int
    sketch: Sketch = field(compare=False)
    predicted: float = field(compare=False)


def propose(nest: Nest, model: CostModel, vector_bytes: int) -> InitialTraces:
    """Yield traces, most promising first; the caller sends the cost of each in seconds."""
    return whole_traces(nest, partial(propose_sketches, model=model, vector_bytes=vector_bytes))


def whole_traces(nest: Nest, propose_for_simplified: Callable[[Nest], SketchProposals]) -> InitialTraces:
    """Yield traces of a nest, from proposals for the simplified nest; the caller's costs go to these."""
    before, simple = simplified(nest)
    proposals = propose_for_simplified(simple)
    cost: float | None = None
    with suppress(StopIteration):
        while True:
            cost = yield (*before, *proposals.send(cost)[1])


def propose_sketches(nest: Nest, model: CostModel, vector_bytes: int) -> SketchProposals:
    """Yield sketches and traces, as `propose` does, for a nest that is simplified already."""
    pool = _Pool(nest, model, vector_bytes)
    pool.fill()
    measured: list[_Candidate] = []
    for candidate, trace in pool.legal():
        cost = yield candidate.sketch, trace
        if cost is not None and math.isfinite(cost):
            score = math.log2(cost)
            heapq.heappush(
                measured, _Candidate(score, candidate.number, candidate.sketch, candidate.predicted)
            )
            pool.near(heapq.nsmallest(4, measured))


class _Pool:
    """Sketches with their predicted times."""

    def __init__(self, nest: Nest, model: CostModel, vector_bytes: int) -> None:
        self.nest, self.model, self.vector_bytes = nest, model, vector_bytes
        self.rng = np.random.default_rng(zlib.crc32(str(nest).encode()))
        self.featurize = Featurizer(nest, vector_bytes)
        self.seen: set[Sketch] = set()
        self.drawn: list[_Candidate] = []  # heaps
        self.near_best: list[_Candidate] = []

    def fill(self) -> None:
        """Add random sketches, then variations of the best ones."""
        share = len(self.nest.statements)
        self._add([draw(self.nest, self.vector_bytes, self.rng) for _ in range(DRAWN // share)])
        for _ in range(ROUNDS):
            best = heapq.nsmallest(PARENTS, self.drawn)
            if not best:  # all drawn sketches were seen before
                return
            parents = (best[int(self.rng.random() * len(best))] for _ in range(VARIED // share))
            self._add([vary(self.nest, one.sketch, self.vector_bytes, self.rng) for one in parents])

    def near(self, best: list[_Candidate]) -> None:
        """Add variations of measured sketches, with the times predicted from those of their parents."""
        parents = [best[min(len(best) - 1, int(self.rng.exponential(1.0)))] for _ in range(NEAR)]
        sketches = [vary(self.nest, parent.sketch, self.vector_bytes, self.rng) for parent in parents]
        for sketch, predicted, parent in zip(sketches, self._predict(sketches), parents, strict=True):
            if sketch not in self.seen:
                self.seen.add(sketch)
                score = parent.score + float(predicted) - parent.predicted
                heapq.heappush(self.near_best, _Candidate(score, len(self.seen), sketch, float(predicted)))

    def legal(self) -> Iterator[tuple[_Candidate, Trace]]:
        """Yield legal candidates, most promising first; more sketches are drawn only if needed."""
        found: set[str] = set()
        fills = 0  # since the last legal candidate
        while True:
            heap = self.drawn if not self.near_best or self.rng.random() < NEW else self.near_best
            if not heap:
                self.fill()
                fills += 1
                if not self.drawn or fills > FRUITLESS:
                    return
                continue
            candidate = heapq.heappop(heap)
            made = trace_of(self.nest, candidate.sketch)
            if made and (text := str(made[1])) not in found:
                found.add(text)
                fills = 0
                yield candidate, made[0]

    def _add(self, sketches: list[Sketch]) -> None:
        new = [sketch for sketch in dict.fromkeys(sketches) if sketch not in self.seen]
        for sketch, predicted in zip(new, self._predict(new), strict=True):
            self.seen.add(sketch)
            heapq.heappush(self.drawn, _Candidate(float(predicted), len(self.seen), sketch, float(predicted)))

    def _predict(self, sketches: list[Sketch]) -> Floats:
        rows = [self.featurize.of_sketch(sketch) for sketch in sketches]
        return self.model.log2_seconds(rows)


def propose_for(session: Session, model: CostModel) -> InitialTraces:
    """Yield traces of the session's nest; see `propose`."""
    return propose(parse(str(session.observe("nest"))), model, host().vector_bytes)


def predicted_seconds(model: CostModel, session: Session) -> float:
    """Return the seconds that the model predicts for a state of a nest's session."""
    assert isinstance(session, NestSession), "the model reads the loop tree, which a sandbox does not have"
    return float(2.0 ** model.log2_seconds([features_of_tree(session.tree, host().vector_bytes)])[0])


load_for = partial(load_policy, known=COLUMNS, kind=KIND, propose=propose_for, predict=predicted_seconds)
