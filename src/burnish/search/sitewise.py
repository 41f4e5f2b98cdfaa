"""Every site its own trace."""

from __future__ import annotations

import numpy as np

from burnish.core.trace import Trace, entry
from burnish.search.space import Batch, Evaluation, Proposals, Space


def sitewise(space: Space, rng: np.random.Generator, *, batch: int = 16, longest: int = 5) -> Proposals:
    """Refine the best start site by site, all sites at once.

    A program's cost is the sum of its sites' costs. So one evaluation of a random tail, applied
    everywhere, is a trial for every site: each keeps the best tail that it has seen, written into the
    trace as `site: action` entries. The joined trace is evaluated as a whole before it is believed,
    and it is where the next tails are tried.
    """
    if not space.site_actions:  # nothing is legal at a single site, or there is none
        return
    current = space.best_start
    while True:
        (current,) = yield Batch([current.trace], site_costs=True)
        tails = [_tail(space, rng, longest) for _ in range(batch)]
        tried = yield Batch([current.trace + tail for tail in tails], site_costs=True)
        joined = current.trace + _best_tails(current, tails, tried)
        if joined == current.trace:
            continue
        (candidate,) = yield Batch([joined], site_costs=True)
        current = min(candidate, *tried, current, key=lambda item: item.order)


def _tail(space: Space, rng: np.random.Generator, longest: int) -> Trace:
    length = int(rng.integers(1, longest + 1))
    return tuple(space.site_actions[i] for i in rng.integers(len(space.site_actions), size=length))


def _best_tails(current: Evaluation, tails: list[Trace], tried: list[Evaluation]) -> Trace:
    """Return `site: action` entries: for each site that some tail made cheaper, the one that did most."""
    entries: list[str] = []
    for site, cost in current.site_costs.items():
        costs = [evaluation.site_costs.get(site, cost) for evaluation in tried]
        best = int(np.argmin(costs))
        if costs[best] < cost:
            entries += [entry(action, site) for action in tails[best]]
    return tuple(entries)
