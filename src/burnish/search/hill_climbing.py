"""Hill climbing with restarts."""

from __future__ import annotations

import numpy as np

from burnish.search.space import Batch, Proposals, Space


def hill_climbing(
    space: Space, rng: np.random.Generator, *, neighbours: int = 16, patience: int = 12
) -> Proposals:
    """Move to the best of some random neighbours unless it is worse; after `patience` vain rounds restart.

    A restart begins at a random trace behind a random start.
    """
    current, vain = space.best_start, 0
    while True:
        candidates = yield Batch([space.mutate(current.trace, rng) for _ in range(neighbours)])
        best = min(candidates, key=lambda candidate: candidate.order)
        vain = 0 if best.cost < current.cost else vain + 1
        if best.cost <= current.cost:
            current = best
        if vain > patience:
            head = space.starts[rng.integers(len(space.starts))]
            (current,) = yield Batch([head.trace + space.random_trace(rng, 8)])
            vain = 0
