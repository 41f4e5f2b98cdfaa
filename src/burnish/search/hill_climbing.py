"""Hill climbing with restarts."""

from __future__ import annotations

import numpy as np

from burnish.search.space import Batch, Proposals, SearchSpace


def hill_climbing(
    space: SearchSpace, rng: np.random.Generator, *, neighbours: int = 16, patience: int = 12
) -> Proposals:
    """Move to the best of some random neighbours unless it is worse; restart after a series without gains.

    A restart follows more than `patience` rounds without a gain. It begins at a random initial trace with a
    random suffix.
    """
    current, stale = space.best_initial, 0
    while True:
        candidates = yield Batch([space.mutate(current.trace, rng) for _ in range(neighbours)])
        best = min(candidates, key=lambda candidate: candidate.order)
        stale = 0 if best.cost < current.cost else stale + 1
        if best.cost <= current.cost:
            current = best
        if stale > patience:
            head = space.initial[rng.integers(len(space.initial))]
            (current,) = yield Batch([head.trace + space.random_trace(rng, 8)])
            stale = 0
