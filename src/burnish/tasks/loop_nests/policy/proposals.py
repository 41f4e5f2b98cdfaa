"""A policy of schedules: sketches in the order in which a cost model likes them, then what is near the best.

The first trace is the policy's choice without measuring. Later ones learn from what the earlier ones cost: a
variation of a measured schedule is expected to take what that took, times the model's ratio of the two.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from burnish.core.errors import InputError
from burnish.core.guide import Guide, InitialTraces
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.features import Featurizer
from burnish.tasks.loop_nests.kernel import host
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy.cost_model import CostModel, Floats, load_cost_model
from burnish.tasks.loop_nests.sketches import Sketch, simplified, trace_of
from burnish.tasks.loop_nests.variation import vary

DRAWN = 380  # sketches, of statements together
VARIED = 110  # in each of the rounds after that
ROUNDS = 3
PARENTS = 12  # of the variations
NEAR = 10  # variations of a good schedule for each that is measured
FRUITLESS = 8  # times that sketches are drawn, and none of them is legal
NEW = 0.15  # of the proposals are the model's next ones, not near the best


@dataclass(frozen=True)
class SchedulePolicy:
    """Guides for searches of loop nests."""

    model: CostModel

    @property
    def objective(self) -> str:
        """What it was made for."""
        return self.model.objective

    def __call__(self, session: Session) -> Guide:
        """Propose schedules of the nest that is open."""
        nest = parse(str(session.observe("nest")))
        return Guide(propose(nest, self.model, host().vector_bytes), searches=True)

    def distance(self, _task: Task) -> float:
        """Return how far the machine that was measured is from this one, by the width of vectors."""
        return abs(math.log2(self.model.vector_bytes / host().vector_bytes))


@dataclass(order=True)
class _Candidate:
    score: float  # log2 of the seconds that are expected
    number: int
    sketch: Sketch = field(compare=False)
    predicted: float = field(compare=False)


def propose(nest: Nest, model: CostModel, vector_bytes: int) -> InitialTraces:
    """Yield traces, the most promising first; sent what each costs in seconds."""
    before, simple = simplified(nest)
    proposals = propose_sketches(simple, model, vector_bytes)
    cost: float | None = None
    with suppress(StopIteration):
        while True:
            cost = yield (*before, *proposals.send(cost)[1])


def propose_sketches(
    nest: Nest, model: CostModel, vector_bytes: int
) -> Generator[tuple[Sketch, Trace], float | None, None]:
    """Yield sketches and their traces in the same way, of a nest that is simple already."""
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
    """Sketches with what the model expects of them."""

    def __init__(self, nest: Nest, model: CostModel, vector_bytes: int) -> None:
        self.nest, self.model, self.vector_bytes = nest, model, vector_bytes
        self.rng = np.random.default_rng(zlib.crc32(str(nest).encode()))
        self.featurize = Featurizer(nest, vector_bytes)
        self.seen: set[Sketch] = set()
        self.drawn: list[_Candidate] = []  # heaps
        self.near_best: list[_Candidate] = []

    def fill(self) -> None:
        """Draw sketches, and vary the best of them."""
        share = len(self.nest.statements)
        self._add([draw(self.nest, self.vector_bytes, self.rng) for _ in range(DRAWN // share)])
        for _ in range(ROUNDS):
            best = heapq.nsmallest(PARENTS, self.drawn)
            self._add([self._varied(best) for _ in range(VARIED // share)])

    def near(self, best: list[_Candidate]) -> None:
        """Add variations of what was measured; what was better than expected lets expect more of them."""
        parents = [best[min(len(best) - 1, int(self.rng.exponential(1.0)))] for _ in range(NEAR)]
        sketches = [vary(self.nest, parent.sketch, self.vector_bytes, self.rng) for parent in parents]
        for sketch, predicted, parent in zip(sketches, self._predict(sketches), parents, strict=True):
            if sketch not in self.seen:
                self.seen.add(sketch)
                score = parent.score + float(predicted) - parent.predicted
                heapq.heappush(self.near_best, _Candidate(score, len(self.seen), sketch, float(predicted)))

    def legal(self) -> Iterator[tuple[_Candidate, Trace]]:
        """Yield what is legal, the most promising first; only so much more is drawn as is asked for."""
        found: set[str] = set()
        fills = 0  # since there was a legal one
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

    def _varied(self, parents: list[_Candidate]) -> Sketch:
        parent = parents[int(self.rng.random() * len(parents))]
        return vary(self.nest, parent.sketch, self.vector_bytes, self.rng)

    def _add(self, sketches: list[Sketch]) -> None:
        new = [sketch for sketch in dict.fromkeys(sketches) if sketch not in self.seen]
        for sketch, predicted in zip(new, self._predict(new), strict=True):
            self.seen.add(sketch)
            heapq.heappush(self.drawn, _Candidate(float(predicted), len(self.seen), sketch, float(predicted)))

    def _predict(self, sketches: list[Sketch]) -> Floats:
        rows = [self.featurize.of_sketch(sketch) for sketch in sketches]
        return self.model.log2_seconds(rows)


def load_for(path: Path, task: Task) -> SchedulePolicy:
    """Read a cost model as a policy for a task; see burnish.policies.find.

    Raises:
        InputError: it is none, or for another task.
    """
    model = load_cost_model(path)
    if model.task != task.id:
        raise InputError(f"{path}: a policy for {model.task}, and this is {task.id}; train it anew")
    return SchedulePolicy(model)
