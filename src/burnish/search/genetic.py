"""A genetic algorithm over traces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burnish.core.trace import Trace
from burnish.search.mutation import cross
from burnish.search.space import Batch, Evaluation, Proposals, Space


def genetic(
    space: Space,
    rng: np.random.Generator,
    *,
    population: int = 32,
    elite: int = 8,
    tournament: int = 3,
    crossover: float = 0.6,
    immigrants: int = 6,
) -> Proposals:
    """Breed traces: tournament selection, one-point crossover, mutation; the best `elite` survive.

    In every generation some `immigrants` come from elsewhere: a random start with a short random suffix.

    The first generation is the initial traces, and as many mutants of the better ones as there is room for.
    """
    alive = _distinct(space.initial)
    while True:
        alive = alive[:population]
        heads = rng.integers(len(space.initial), size=immigrants)
        children = [space.initial[head].trace + space.random_trace(rng, 6) for head in heads]
        while len(children) < population - elite:
            parent, other = (_select(alive, tournament, rng) for _ in range(2))
            child = parent.trace
            if rng.random() < crossover:
                child = cross(parent.trace, other.trace, rng)[: space.max_length]
            children.append(space.mutate(child, rng))
        born = yield Batch(children)
        alive = _distinct([*alive[:elite], *born, *alive[elite:]])


def _distinct(candidates: Sequence[Evaluation]) -> list[Evaluation]:
    """Sort by cost and keep one of each trace, and at most two of each cost."""
    kept: dict[Trace, Evaluation] = {}
    costs: dict[float, int] = {}
    for candidate in sorted(candidates, key=lambda item: item.order):
        if candidate.error or candidate.trace in kept or costs.get(candidate.cost, 0) >= 2:
            continue
        kept[candidate.trace] = candidate
        costs[candidate.cost] = costs.get(candidate.cost, 0) + 1
    return list(kept.values())


def _select(alive: Sequence[Evaluation], tournament: int, rng: np.random.Generator) -> Evaluation:
    """Return the best of some drawn at random; `alive` is sorted."""
    return alive[int(rng.integers(len(alive), size=tournament).min())]
