"""A search of schedules that asks a comparison model which of two is faster: tournaments of sketches.

Sketches are drawn at random. In each round of a tournament they meet in pairs, and the slower one leaves; the
last ones meet each other. Variations of the best play the next tournament. Once schedules are measured,
variations of the fastest play against the candidates that are left.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from burnish.core.guide import InitialTraces
from burnish.core.session import Session
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.features import COLUMNS, Featurizer
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy.proposals import (
    DRAWN,
    FRUITLESS,
    NEAR,
    PARENTS,
    ROUNDS,
    VARIED,
    SketchProposals,
    whole_traces,
)
from burnish.tasks.loop_nests.sketches import Sketch, trace_of
from burnish.tasks.loop_nests.variation import vary
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.comparison_model import ComparisonModel, load_comparison_model
from burnish.tasks.tensors.policy.cost_model import Floats, load_policy

KIND = "schedule-comparison"
LAST = 24  # candidates that meet each other; more of them leave in pairs
FASTEST = 4  # measured schedules that are varied


@dataclass(frozen=True, eq=False)
class Candidate:
    """A sketch, and its embedding, float32[models, D]."""

    sketch: Sketch
    embedded: Floats


def rank(
    model: ComparisonModel, candidates: Sequence[Candidate], rng: np.random.Generator
) -> list[Candidate]:
    """Return the last LAST candidates of a tournament, best first: by the sum of their log-odds."""
    left = list(candidates)
    while len(left) > LAST:
        order = rng.permutation(len(left))
        half = len(left) // 2
        pairs = [(left[i], left[j]) for i, j in zip(order[:half], order[half : 2 * half], strict=True)]
        first, second = (np.stack([pair[side].embedded for pair in pairs], axis=1) for side in (0, 1))
        wins = model.faster(first, second) > 0
        waiting = [left[i] for i in order[2 * half :]]  # of an odd number, one has no opponent
        left = [one if wins[i] else other for i, (one, other) in enumerate(pairs)] + waiting
    if not left:
        return []
    embedded = np.stack([one.embedded for one in left], axis=1)
    scores = model.faster(embedded[:, :, None], embedded[:, None]).sum(axis=1)
    return [left[i] for i in np.argsort(-scores, kind="stable")]


def propose(nest: Nest, model: ComparisonModel, vector_bytes: int) -> InitialTraces:
    """Yield traces, most promising first; the caller sends the cost of each in seconds."""
    return whole_traces(nest, partial(propose_sketches, model=model, vector_bytes=vector_bytes))


def propose_sketches(nest: Nest, model: ComparisonModel, vector_bytes: int) -> SketchProposals:
    """Yield sketches and traces, as `propose` does, for a nest that is simplified already."""
    rng = np.random.default_rng(zlib.crc32(str(nest).encode()))
    featurize = Featurizer(nest, vector_bytes)
    seen: set[Sketch] = set()
    found: set[str] = set()  # the loops of legal schedules
    share = len(nest.statements)

    def enter(sketches: Sequence[Sketch]) -> list[Candidate]:
        new = [sketch for sketch in dict.fromkeys(sketches) if sketch not in seen]
        seen.update(new)
        if not new:
            return []
        embedded = model.embed([featurize.of_sketch(sketch) for sketch in new])
        return [Candidate(sketch, embedded[:, i]) for i, sketch in enumerate(new)]

    def variations(parents: Sequence[Candidate], count: int) -> list[Candidate]:
        chosen = (parents[int(rng.random() * len(parents))] for _ in range(count))
        return enter([vary(nest, one.sketch, vector_bytes, rng) for one in chosen])

    def drawn() -> list[Candidate]:
        best = rank(model, enter([draw(nest, vector_bytes, rng) for _ in range(DRAWN // share)]), rng)
        for _ in range(ROUNDS if best else 0):
            best = rank(model, best + variations(best[:PARENTS], VARIED // share), rng)
        return best

    left = drawn()
    measured: list[tuple[float, Candidate]] = []
    fruitless = 0
    while fruitless <= FRUITLESS:
        if not left:
            left, fruitless = drawn(), fruitless + 1
            continue
        candidate = left.pop(0)
        made = trace_of(nest, candidate.sketch)
        if not made or (text := str(made[1])) in found:
            continue
        found.add(text)
        fruitless = 0
        cost = yield candidate.sketch, made[0]
        if cost is not None and math.isfinite(cost):
            measured.append((cost, candidate))
            fastest = [one for _, one in sorted(measured, key=lambda pair: pair[0])[:FASTEST]]
            left = rank(model, left + variations(fastest, NEAR), rng)


def propose_for(session: Session, model: ComparisonModel) -> InitialTraces:
    """Yield traces of the session's nest; see `propose`."""
    return propose(parse(str(session.observe("nest"))), model, host().vector_bytes)


load_for = partial(load_policy, known=COLUMNS, kind=KIND, propose=propose_for, load=load_comparison_model)
