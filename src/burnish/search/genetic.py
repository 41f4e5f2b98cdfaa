"""A genetic algorithm over traces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burnish.core.trace import Trace
from burnish.search.mutation import cross
from burnish.search.space import Batch, Evaluation, Proposals, SearchSpace

POPULATION = 32
ELITE = 8  # the best traces of the population, which always survive
TOURNAMENT = 3  # traces drawn at random; the best of them becomes a parent
CROSSOVER = 0.6  # the share of children that have two parents
IMMIGRANTS = 6  # per generation: random initial traces with short random suffixes


def genetic(space: SearchSpace, rng: np.random.Generator) -> Proposals:
    """Evolve traces: tournament selection, cut-and-splice crossover, mutation; the best survive.

    The population starts with the initial traces. Each generation adds POPULATION - ELITE candidates.
    """
    alive = _distinct(space.initial)
    while True:
        alive = alive[:POPULATION]
        begins = rng.integers(len(space.initial), size=IMMIGRANTS)
        candidates = [space.initial[begin].trace + space.random_trace(rng, 6) for begin in begins]
        while len(candidates) < POPULATION - ELITE:
            parent, other = (_select(alive, rng) for _ in range(2))
            trace = parent.trace
            if rng.random() < CROSSOVER:
                trace = cross(parent.trace, other.trace, rng)[: space.max_length]
            candidates.append(space.mutate(trace, rng))
        evaluated = yield Batch(candidates)
        alive = _distinct([*alive[:ELITE], *evaluated, *alive[ELITE:]])


def _distinct(candidates: Sequence[Evaluation]) -> list[Evaluation]:
    """Sort by cost, without crashes; keep one evaluation per trace, and at most two per cost."""
    kept: dict[Trace, Evaluation] = {}
    costs: dict[float, int] = {}
    for candidate in sorted(candidates, key=lambda item: item.order):
        if candidate.error or candidate.trace in kept or costs.get(candidate.cost, 0) >= 2:
            continue
        kept[candidate.trace] = candidate
        costs[candidate.cost] = costs.get(candidate.cost, 0) + 1
    return list(kept.values())


def _select(alive: Sequence[Evaluation], rng: np.random.Generator) -> Evaluation:
    """Return the best of TOURNAMENT random traces; `alive` is sorted, best first."""
    return alive[int(rng.integers(len(alive), size=TOURNAMENT).min())]
