"""Search in large programs: trials at isolated sites, then evaluations of their joined trace."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from burnish.core.trace import Trace, entries_at
from burnish.search.mutation import draw_suffix
from burnish.search.space import (
    NOT_TRIED,
    Ask,
    Batch,
    Evaluation,
    SearchSpace,
    SiteProposals,
    SiteTrials,
    Trial,
)

COVERED = 0.98  # share of the sites' costs that is searched: the rest is many sites with little to gain
DRAWN = 24  # suffixes drawn when no learned ones are left
PROBED = 40  # fewest sites at which all suffixes are tried; only the best of these are tried at the others
LEAST_GAIN = 0.004  # gain at the sites that justifies an evaluation of the program, as a share of its cost


def partwise(
    space: SearchSpace, rng: np.random.Generator, *, group: int = 4, longest: int = 5
) -> SiteProposals:
    """Refine the best initial trace's sites, each isolated from the program, and evaluate their joined trace.

    As in sitewise search, each site keeps its best suffix; but the time of a trial depends on the size of the
    site, not of the program. New suffixes are tried after the best one: first the learned ones, then
    variations and random ones. In a program with many sites, all suffixes are first tried at some sites, and
    only those that gain there are tried at all sites. After enough gain, and when the budget ends, the
    program is evaluated with the best suffixes of all sites. Sites that did not become cheaper in this
    evaluation lose their suffix.

    At every site, `group` suffixes are tried before its best one is updated.
    """
    if not space.site_actions:
        return
    (current,) = yield Batch([space.best_initial.path], Ask.SITE_COSTS)
    sites = _largest(current.site_costs)
    if not sites:
        return
    base, joined = current.path, current
    found: dict[str, Evaluation] = {}  # the best trial at each site; its cost is the site's change of cost
    gain = 0.0  # of the suffixes in the last joined trace, as the sum over the sites
    kept, pool = list(space.suffixes), list(space.suffixes)
    for turn in itertools.count():
        pool = pool or [draw_suffix(space.site_actions, kept, rng, longest=longest) for _ in range(DRAWN)]
        stride = max(1, len(sites) // PROBED)
        if stride > 1:
            probed = sites[turn % stride :: stride]
            drawn, tried = pool, (yield _trials(base, found, probed, pool))
            if all(item.error for item in tried):  # no site can be isolated, or the budget is spent
                return
            pool = _covering(pool, tried, [found[site].cost if site in found else 0.0 for site in probed])
            _keep(found, kept, probed, drawn, tried)
        for suffixes in [pool[i : i + group] for i in range(0, len(pool), group)]:
            tried = yield _trials(base, found, sites, suffixes)
            if all(item.error for item in tried):  # no site can be isolated, or the budget is spent
                return
            _keep(found, kept, sites, suffixes, tried)
            short = any(item.error == NOT_TRIED for item in tried)
            now = -sum(item.cost for item in found.values())
            if now > gain and (short or now - gain > LEAST_GAIN * joined.cost):
                (candidate,) = yield Batch([_joined(base, found)], Ask.SITE_COSTS)
                found = _cheaper(found, current, candidate)
                gain = -sum(item.cost for item in found.values())
                if gain < now and candidate.cost >= joined.cost:
                    (candidate,) = yield Batch([_joined(base, found)], Ask.SITE_COSTS)
                joined = min(joined, candidate, key=lambda item: item.order)
            if short:
                return
        pool = []


def _trials(
    base: Trace, found: dict[str, Evaluation], sites: Sequence[str], suffixes: Sequence[Trace]
) -> SiteTrials:
    """Return the trials of each suffix at each site, after the site's best one; grouped by site."""
    before = {site: found[site].trace if site in found else () for site in sites}
    return SiteTrials(base, [Trial(site, before[site] + suffix) for site in sites for suffix in suffixes])


def _keep(
    found: dict[str, Evaluation],
    kept: list[Trace],
    sites: Sequence[str],
    suffixes: Sequence[Trace],
    tried: Sequence[Evaluation],
) -> None:
    """Store the trials that beat all before at a site in `found`, and their suffixes in the pool `kept`."""
    for (site, suffix), trial in zip(itertools.product(sites, suffixes), tried, strict=True):
        if trial.cost < (found[site].cost if site in found else 0.0):
            found[site] = trial
            if suffix not in kept:
                kept.append(suffix)


def _covering(suffixes: Sequence[Trace], tried: Sequence[Evaluation], least: Sequence[float]) -> list[Trace]:
    """Choose suffixes greedily: each adds the most gain to those before, until no site gains any more.

    `tried` has the evaluation of each suffix at the first site, then at the next one; `least` has the lowest
    change of each site's cost before.
    """
    costs = np.array([item.cost for item in tried]).reshape(-1, len(suffixes))
    so_far, chosen = np.array(least)[:, None], []
    while (gains := np.maximum(0.0, so_far - costs).sum(axis=0)).any():
        best = int(np.argmax(gains))
        chosen.append(suffixes[best])
        so_far = np.minimum(so_far, costs[:, best : best + 1])
    return chosen


def _largest(costs: dict[str, float]) -> list[str]:
    """Return the sites that make up COVERED of the costs, the costliest first."""
    ordered = sorted(costs, key=lambda site: (-costs[site], site))
    sums = np.cumsum([costs[site] for site in ordered])
    return ordered[: int(np.searchsorted(sums, COVERED * sums[-1])) + 1] if ordered else []


def _joined(base: Trace, found: dict[str, Evaluation]) -> Trace:
    return base + entries_at({site: trial.trace for site, trial in found.items()})


def _cheaper(found: dict[str, Evaluation], before: Evaluation, after: Evaluation) -> dict[str, Evaluation]:
    """Return the trials of the sites that became cheaper in the whole program."""
    return {
        site: trial
        for site, trial in found.items()
        if after.site_costs.get(site, 0.0) < before.site_costs.get(site, 0.0)
    }
