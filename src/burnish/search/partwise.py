"""Large programs: every site alone, then all that was found together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burnish.core.trace import Trace, entry, split_entry
from burnish.search.sitewise import draw_tail
from burnish.search.space import NOT_TRIED, Batch, Evaluation, Proposals, Space

COVERED = 0.98  # of the sites' costs: what is left are many sites with little to gain
PROBED = 60  # sites at which all learned tails are tried before any is tried at all sites
WORTH = 0.002  # of the program's cost, that the sites must have gained for an evaluation of the whole


def partwise(
    space: Space, rng: np.random.Generator, *, group: int = 4, longest: int = 5, learned: bool = False
) -> Proposals:
    """Refine the best start's sites, each apart from the rest of the program, and evaluate what was found.

    As in sitewise search, each site keeps the best tail that it has seen; but how long a trial takes depends
    on the site's size, not on the program's. The next tails are tried behind the best one: first the learned
    ones that some sites, where all were tried, gained by; then variations and random ones. Now and then, and
    when there is just time for it, the program is evaluated with all of them: what is not cheaper there loses
    its tail.

    Args:
        space: Where to search.
        rng: Of every random choice.
        group: Tails that are tried at every site before the next best is known.
        longest: Entries of a random tail.
        learned: End when the learned tails were tried.
    """
    if not space.site_actions:
        return
    (current,) = yield Batch([space.best_start.path], site_costs=True)
    sites = _largest(current.site_costs)
    if not sites:
        return
    base, joined = current.path, current
    found: dict[str, Evaluation] = {}  # the best at each site; its cost is the difference that it makes
    gain = 0.0  # of what was joined
    pool, kept = list(space.tails), list(space.tails)
    probed = sites[:: max(1, len(sites) // PROBED)] if len(pool) > group else []
    if probed:  # which of them are worth it here
        tried = yield Batch(
            [_at(base, None, site, tail) for site in probed for tail in pool], alone=len(base)
        )
        pool = _covering(pool, [tried[i : i + len(pool)] for i in range(0, len(tried), len(pool))])
    while pool or not learned:
        tails, pool = pool[:group], pool[group:]
        tails += [draw_tail(space, kept, rng, longest) for _ in range(group - len(tails))]
        tried = yield Batch(
            [_at(base, found.get(site), site, tail) for site in sites for tail in tails], alone=len(base)
        )
        if all(item.error for item in tried):  # no site can be had alone, or nothing is left of the budget
            return
        for site, trial in zip((site for site in sites for _ in tails), tried, strict=True):
            if trial.cost < (found[site].cost if site in found else 0.0):
                found[site] = trial
                kept.insert(0, _tail(base, trial))
        kept = list(dict.fromkeys(kept))
        short = any(item.error == NOT_TRIED for item in tried)
        now = -sum(item.cost for item in found.values())
        if now > gain and (short or (learned and not pool) or now - gain > WORTH * joined.cost):
            (candidate,) = yield Batch([_joined(base, found)], site_costs=True)
            found = _cheaper(found, current, candidate)
            gain = -sum(item.cost for item in found.values())
            joined = min(joined, candidate, key=lambda item: item.order)
            if gain < now and candidate.cost > joined.cost:
                (candidate,) = yield Batch([_joined(base, found)], site_costs=True)
                joined = min(joined, candidate, key=lambda item: item.order)
        if short:
            return


def _covering(tails: Sequence[Trace], tried: Sequence[Sequence[Evaluation]]) -> list[Trace]:
    """Return the tails that some site needs, each next one that which adds the most to those before.

    Args:
        tails: What was tried.
        tried: Of each site, what each tail came to.
    """
    costs = np.array([[min(0.0, item.cost) for item in row] for row in tried])  # [sites, tails]
    least, chosen = np.zeros((len(costs), 1)), []
    while (gains := np.maximum(0.0, least - costs).sum(axis=0)).any():
        best = int(np.argmax(gains))
        chosen.append(tails[best])
        least = np.minimum(least, costs[:, best : best + 1])
    return chosen


def _largest(costs: dict[str, float]) -> list[str]:
    """Return the sites that cost the most, the costliest first."""
    ordered = sorted(costs, key=lambda site: (-costs[site], site))
    sums = np.cumsum([costs[site] for site in ordered])
    return ordered[: int(np.searchsorted(sums, COVERED * sums[-1])) + 1] if ordered else []


def _at(base: Trace, best: Evaluation | None, site: str, tail: Trace) -> Trace:
    before = best.trace if best else base
    return before + tuple(entry(action, site) for action in tail)


def _tail(base: Trace, trial: Evaluation) -> Trace:
    return tuple(split_entry(text)[1] for text in trial.trace[len(base) :])


def _joined(base: Trace, found: dict[str, Evaluation]) -> Trace:
    return base + tuple(text for trial in found.values() for text in trial.trace[len(base) :])


def _cheaper(found: dict[str, Evaluation], before: Evaluation, after: Evaluation) -> dict[str, Evaluation]:
    """Return what was found for the sites that it made cheaper in the whole program."""
    return {
        site: trial
        for site, trial in found.items()
        if after.site_costs.get(site, 0.0) < before.site_costs.get(site, 0.0)
    }
