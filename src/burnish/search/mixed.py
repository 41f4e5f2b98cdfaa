"""Breeding and refining in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from burnish.search.genetic import genetic
from burnish.search.sitewise import sitewise
from burnish.search.space import Evaluation, Proposals, Space


def mixed(space: Space, rng: np.random.Generator, *, breed: int = 2, refine: int = 3) -> Proposals:
    """Alternate genetic search for the program and sitewise search from the best trace so far.

    Whole-program traces and those of single sites find different gains: inlining and outlining need the
    one, what suits a function and not its neighbour the other.

    Args:
        space: What to choose from.
        rng: The source of every choice.
        breed: Generations in a turn.
        refine: Rounds of sitewise search in a turn, of up to three batches each.
    """
    if not space.site_actions:  # nothing to refine
        yield from genetic(space, rng)
    best = space.best_start
    breeding = genetic(space, rng)
    refined: Evaluation | None = None
    batch = next(breeding)
    while True:
        for _ in range(breed):
            evaluations = yield batch
            best = min([best, *evaluations], key=lambda item: item.order)
            batch = breeding.send(evaluations)
        if refined is None or best.cost < refined.cost:
            refining = sitewise(replace(space, starts=(best,)), rng)
            trial = next(refining)
        for _ in range(3 * refine):
            evaluations = yield trial
            best = min([best, *evaluations], key=lambda item: item.order)
            trial = refining.send(evaluations)
        refined = best
