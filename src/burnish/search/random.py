"""Random search."""

from __future__ import annotations

import numpy as np

from burnish.search.space import Batch, Proposals, SearchSpace


def random_search(
    space: SearchSpace, rng: np.random.Generator, *, batch: int = 32, longest: int | None = None
) -> Proposals:
    """Try `batch` random traces at a time, each after a random initial trace.

    The random part has at most `longest` entries, by default the space's limit.
    """
    while True:
        heads = rng.integers(len(space.initial), size=batch)
        yield Batch([space.initial[head].trace + space.random_trace(rng, longest) for head in heads])
