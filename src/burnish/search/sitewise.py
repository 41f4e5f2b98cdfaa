"""Every site its own trace."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import chain, repeat

import numpy as np

from burnish.core.trace import Trace, entry
from burnish.search.space import Batch, Evaluation, Proposals, Space

PRICES = (1.0, 0.25, 0.0)  # shares of the price of what sites have in common that are tried
BATCHES = (4, 8, 16)  # tails until the next joined trace: few at first, for a short budget to end with one


def sitewise(
    space: Space, rng: np.random.Generator, *, batches: Sequence[int] = BATCHES, longest: int = 5
) -> Proposals:
    """Refine the best start site by site, all sites at once.

    A program's cost is the sum of its sites' costs. So one evaluation of a tail, applied everywhere, is a
    trial for every site: each keeps the best tail that it has seen, written into the trace as `site: action`
    entries. The joined trace is evaluated as a whole before it is believed, and it is where the next tails
    are tried: the learned ones in their order, then variations of those that some site kept, and random ones.
    """
    if not space.site_actions:  # nothing is legal at a single site, or there is none
        return
    current = space.best_start
    learned, kept = list(space.tails), list(space.tails)
    for batch in chain(batches, repeat(batches[-1])):
        tails, learned = learned[:batch], learned[batch:]
        tails += [draw_tail(space, kept, rng, longest) for _ in range(batch - len(tails))]
        current, best = yield from refine(current, tails)
        kept = list(dict.fromkeys([*best, *kept]))


def refine(
    start: Evaluation, tails: Sequence[Trace], *, partial: bool = False
) -> Generator[Batch, list[Evaluation], tuple[Evaluation, list[Trace]]]:
    """Try tails at every site of a start: yield batches; return the best, and the tails that some site kept.

    What sites have in common, under a limit for all together, has a price at each. How high it has to be
    depends on how far the program is from that limit, so several are tried.

    With `partial`, those that there is time for, and what is joined of them.
    """
    (current,) = yield Batch([start.trace], site_costs=True)
    tried = yield Batch([current.trace + tail for tail in tails], site_costs=True, partial=partial)
    joined: dict[Trace, list[Trace]] = {}  # what is kept in each
    for price in PRICES:
        if best := _best_tails(current, tails, tried, price):
            trace = tuple(entry(action, site) for site, tail in best.items() for action in tail)
            joined.setdefault(current.trace + trace, list(best.values()))
    candidates = (yield Batch([*joined], site_costs=True, partial=partial)) if joined else []
    better = min(current, *tried, *candidates, key=lambda item: item.order)
    return better, [tail for kept in joined.values() for tail in kept]


def draw_tail(space: Space, kept: Sequence[Trace], rng: np.random.Generator, longest: int) -> Trace:
    """Draw a tail: a random one, or one that was worth it with an entry inserted, removed or replaced."""
    actions = space.site_actions
    if not kept or rng.random() < 0.4:
        return tuple(actions[i] for i in rng.integers(len(actions), size=int(rng.integers(1, longest + 1))))
    entries = list(kept[int(rng.integers(len(kept)))])
    at = int(rng.integers(len(entries) + 1))
    random = actions[int(rng.integers(len(actions)))]
    match rng.choice(["insert", "remove", "replace"]):
        case "insert":
            entries.insert(at, random)
        case "remove" if len(entries) > 1:
            del entries[at - 1]
        case _:
            entries[at - 1] = random
    return tuple(entries)


def _best_tails(
    current: Evaluation, tails: Sequence[Trace], tried: Sequence[Evaluation], price: float
) -> dict[str, Trace]:
    """Return, for each site that some tail made cheaper at a share of the price, the one that did most."""
    best: dict[str, Trace] = {}
    every = [_at_price(evaluation, price) for evaluation in tried]
    for site, cost in _at_price(current, price).items():
        costs = [each.get(site, cost) for each in every]
        least = int(np.argmin(costs))
        if costs[least] < cost:
            best[site] = tails[least]
    return best


def _at_price(evaluation: Evaluation, price: float) -> dict[str, float]:
    priced, free = evaluation.site_costs, evaluation.unpriced
    return {site: price * cost + (1 - price) * free.get(site, cost) for site, cost in priced.items()}
