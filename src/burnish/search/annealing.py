"""Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983)."""

from __future__ import annotations

import math

import numpy as np

from burnish.search.space import Batch, Proposals, SearchSpace


def annealing(
    space: SearchSpace,
    rng: np.random.Generator,
    *,
    chains: int = 8,
    hot: float = 0.02,
    cold: float = 2e-4,
    rounds: int = 150,
) -> Proposals:
    """Run chains that accept a neighbour with probability min(1, exp(-log(new / old) / temperature)).

    The temperature, in units of log cost, falls geometrically from `hot` to `cold` in `rounds` rounds. Then
    every chain restarts at `hot` from the best state so far.
    """
    current = [space.best_initial] * chains
    best = space.best_initial
    while True:
        for step in range(rounds):
            temperature = hot * (cold / hot) ** (step / (rounds - 1))
            proposed = yield Batch([space.mutate(state.trace, rng) for state in current])
            for chain, candidate in enumerate(proposed):
                if candidate.error:
                    continue
                worse = math.log(candidate.cost / current[chain].cost)
                if worse <= 0 or rng.random() < math.exp(-worse / temperature):
                    current[chain] = candidate
            best = min([best, *current], key=lambda state: state.order)
        current = [best] * chains
