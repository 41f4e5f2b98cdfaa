"""Sitewise search: a separate suffix for every site."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from burnish.core.trace import Trace, entries_at
from burnish.search.choosing import cheapest_within
from burnish.search.hill_climbing import hill_climbing
from burnish.search.mutation import draw_suffix
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace

MARGINS = (0.0, 0.003, 0.01)  # below a program-wide limit, tried in this order; shares of the current use
BATCHES = (4, 8, 16)  # suffixes before each joined trace: few at first, so that a short budget reaches one


def sitewise(
    space: SearchSpace, rng: np.random.Generator, *, batches: Sequence[int] = BATCHES, longest: int = 5
) -> Proposals:
    """Refine the best initial trace at all sites at once.

    A program's cost is the sum of its sites' costs. So one evaluation of a suffix, applied everywhere, is a
    trial at every site. Each site keeps its best suffix, as `site: action` entries of a joined trace. The
    joined trace counts only after it was evaluated as a whole. The next suffixes are tried after the best
    trace so far: first the learned ones, then random ones and variations of those that some site kept.

    Sites without costs of their own are searched together, by hill climbing.
    """
    if not space.site_actions:
        if space.sites:
            yield from hill_climbing(space, rng)
        return
    current = space.best_initial
    learned, kept = list(space.suffixes), list(space.suffixes)
    for batch in chain(batches, repeat(batches[-1])):
        suffixes, learned = learned[:batch], learned[batch:]
        suffixes += [
            draw_suffix(space.site_actions, kept, rng, longest=longest) for _ in range(batch - len(suffixes))
        ]
        current, best = yield from refine(current, suffixes)
        kept = list(dict.fromkeys([*best, *kept]))


def refine(
    initial: Evaluation, suffixes: Sequence[Trace], *, partial: bool = False
) -> Generator[Batch, list[Evaluation], tuple[Evaluation, list[Trace]]]:
    """Try suffixes at every site of a trace; return the best evaluation, and the suffixes that sites kept.

    Shares under a program-wide limit have a price, just high enough that the kept suffixes stay within the
    limit. If the joined trace is not cheaper, the next one of MARGINS is tried.

    With `partial`, suffixes are tried and joined as far as there is time.
    """
    (current,) = yield Batch([initial.trace], Ask.SITE_COSTS)
    tried = yield Batch([current.trace + suffix for suffix in suffixes], Ask.SITE_COSTS, partial=partial)
    found = [current, *tried]
    kept: list[Trace] = []
    for margin in MARGINS:
        best = _best_suffixes(current, suffixes, tried, margin)
        if not best:
            break
        kept += best.values()
        found += yield Batch([current.trace + entries_at(best)], Ask.SITE_COSTS, partial=partial)
        if found[-1].cost < current.cost or math.isinf(current.room):
            break
    return min(found, key=lambda item: item.order), kept


def _best_suffixes(
    current: Evaluation, suffixes: Sequence[Trace], tried: Sequence[Evaluation], margin: float
) -> dict[str, Trace]:
    """Return the best suffix for each site that some suffix made cheaper.

    Costs include shares under a program-wide limit, at the lowest price at which all sites together stay
    within `room`, less a margin: a fraction of the sites' current priced shares.
    """
    sites = [*current.site_costs]
    before = np.array([[current.site_costs[site], current.unpriced.get(site, 0.0)] for site in sites])
    after = np.array(
        [
            [[item.site_costs.get(site, cost), item.unpriced.get(site, free)] for item in tried]
            for site, (cost, free) in zip(sites, before, strict=True)
        ]
    )
    if not after.size:
        return {}
    change = after - before[:, None]  # [sites, suffixes, 2]
    if math.isinf(current.room):
        return _taken(sites, suffixes, cheapest_within(change[..., 0], change[..., 0], math.inf))
    free, common = change[..., 1], change[..., 0] - change[..., 1]
    room = current.room - margin * float((before[:, 0] - before[:, 1]).sum())
    return _taken(sites, suffixes, cheapest_within(free, common, room))


def _taken(sites: Sequence[str], suffixes: Sequence[Trace], chosen: NDArray[np.int64]) -> dict[str, Trace]:
    """Return the suffix of each site that has chosen one."""
    return {site: suffixes[number] for site, number in zip(sites, chosen, strict=True) if number >= 0}
