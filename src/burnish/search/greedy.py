"""Greedy and epsilon-greedy search."""

from __future__ import annotations

import numpy as np

from burnish.search.space import Batch, Proposals, SearchSpace


def greedy(space: SearchSpace, rng: np.random.Generator, *, epsilon: float = 0.0) -> Proposals:
    """Append the best action again and again, until none helps.

    With `epsilon`, a step is a random action with that probability, whatever it costs, and when
    nothing helps the search begins again at the best initial trace: it then goes on for ever.
    """
    current = space.best_initial
    while True:
        if epsilon and rng.random() < epsilon:
            (current,) = yield Batch([(*current.trace, space.random_action(rng))], legal=space.by_state)
            continue
        candidates = yield Batch(space.extensions(current), legal=space.by_state)
        best = min(candidates, default=current, key=lambda candidate: candidate.order)
        if best.cost < current.cost and len(best.trace) <= space.max_length:
            current = best
        elif epsilon:
            again = (*space.best_initial.trace, space.random_action(rng))
            (current,) = yield Batch([again], legal=space.by_state)
        else:
            return


def epsilon_greedy(space: SearchSpace, rng: np.random.Generator, *, epsilon: float = 0.2) -> Proposals:
    """Greedy search that takes a random action in one of five steps."""
    return greedy(space, rng, epsilon=epsilon)
