"""Random search."""

from __future__ import annotations

import numpy as np

from burnish.search.space import Batch, Proposals, SearchSpace


def random_search(
    space: SearchSpace, rng: np.random.Generator, *, batch: int = 32, longest: int | None = None
) -> Proposals:
    """Try random traces, each after a random initial trace.

    Args:
        space: The search space.
        rng: The source of all random choices.
        batch: Traces evaluated together.
        longest: The most entries of the random part; the space's limit by default.
    """
    while True:
        heads = rng.integers(len(space.initial), size=batch)
        yield Batch([space.initial[head].trace + space.random_trace(rng, longest) for head in heads])
