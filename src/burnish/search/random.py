"""Random search."""

from __future__ import annotations

import numpy as np

from burnish.search.space import Batch, Proposals, SearchSpace


def random_search(
    space: SearchSpace, rng: np.random.Generator, *, batch: int = 32, longest: int | None = None
) -> Proposals:
    """Try random traces behind random initial traces.

    Args:
        space: What to choose from.
        rng: The source of every choice.
        batch: Traces evaluated together.
        longest: Of the random part; the space's limit by default.
    """
    while True:
        heads = rng.integers(len(space.initial), size=batch)
        yield Batch([space.initial[head].trace + space.random_trace(rng, longest) for head in heads])
