"""Search in programs with independent sites: one evaluation is a separate trial at every site."""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from burnish.core.action import Action
from burnish.core.trace import Trace, entries_at
from burnish.search.sitewise import sitewise
from burnish.search.space import NOT_TRIED, Ask, Batch, Evaluation, Proposals, SearchSpace

BATCHES = (3, 5, 8)  # trials before all sites' best entries are evaluated together: few for short budgets
LONGEST = 8  # most entries at a site
ATTEMPTS = 12  # to draw entries that were not tried at the site
FRESH = 0.15  # probability spread evenly over all actions, whatever their gains
TRUST = 20.0  # trials that an action's prior gain counts for
INERT = 0.05  # factor of an action's probability at a site where it changed nothing by itself

Cost = tuple[float, float]
"""A site's cost without the price of its share under a program-wide limit, and that price."""


def each_site(space: SearchSpace, rng: np.random.Generator) -> Proposals:
    """Search at every site at once, from the best initial trace.

    The first trials are suffixes that gained at sites of other programs (SearchSpace.suffixes), each at every
    site. After them, a trial is one trace with a separate variation at each site: the site's best entries
    with one added, removed or replaced. Actions are drawn in proportion to their mean gain, as a share of all
    sites' costs, in this program and in others (SearchSpace.prior_gains). After each batch, the best entries
    of all sites are evaluated together, at times also with each action for the whole program only.

    If sites are not independent, or have no costs of their own, this is sitewise search. Shares under a
    program-wide limit are free until the limit is exceeded; from then on they have their price.
    """
    if not (space.independent_sites and space.site_actions):
        yield from sitewise(space, rng)
        return
    base = space.best_initial.path
    (current,) = yield Batch([base], Ask.SITE_COSTS)
    whole = [action for action in space.actions if action not in space.site_actions]
    local = _Local(space, current, rng)
    tail: Trace = ()
    if not local.sites:
        return
    for turn in itertools.count():
        drawn = [local.draw() for _ in range(BATCHES[min(turn, len(BATCHES) - 1)])]
        traces = [base + entries_at(one) + tail for one in drawn]
        trials = yield Batch(traces, Ask.SITE_COSTS, partial=True, trial=True)
        for one, trial in zip(drawn, trials, strict=True):
            local.learn(one, trial)
        joined = base + entries_at(local.best())
        extended = [joined + tail, *((*joined, *tail, action) for action in whole if action not in tail)]
        together = yield Batch(extended if turn & (turn + 1) == 0 else extended[:1], Ask.SITE_COSTS)
        if together[0].room < 0:
            local.price = 1.0
        if all(trial.error == NOT_TRIED for trial in trials):
            return
        chosen = min(range(len(together)), key=lambda i: together[i].order)
        tail = extended[chosen][len(joined) :]


@dataclass
class _Site:
    """The trials at one site, and their costs."""

    seen: dict[Trace, Cost]
    inert: set[str] = field(default_factory=set)  # actions that changed nothing by themselves

    def best(self, price: float) -> Trace:
        return min(self.seen, key=lambda one: (self.value(one, price), len(one), one))

    def value(self, suffix: Trace, price: float) -> float:
        free, shared = self.seen[suffix]
        return free + price * shared


class _Local:
    """Local search at all sites, and the gains of actions there."""

    def __init__(self, space: SearchSpace, current: Evaluation, rng: np.random.Generator) -> None:
        self.actions = space.site_actions
        self.sites = {site: _Site({(): cost}) for site, cost in _costs(current).items()}
        self.price = float(current.room < 0)
        self._rng = rng
        self._first = deque(space.suffixes)
        self._kinds = {action: Action.parse(action).kind for action in self.actions}
        known = np.array([space.prior_gains.get(action, 0.0) for action in self.actions])
        self._gained = TRUST * known  # as shares of all sites' costs, summed over the trials with each action
        self._trials = np.full(len(self.actions), TRUST)
        self._index = {action: i for i, action in enumerate(self.actions)}
        self._all = max(1.0, sum(free for site in self.sites.values() for free, _ in site.seen.values()))

    def best(self) -> dict[str, Trace]:
        """Return each site's best entries."""
        return {name: site.best(self.price) for name, site in self.sites.items()}

    def draw(self) -> dict[str, Trace]:
        """Return the next entries to try at each site; the site's best ones if no untried ones are found."""
        if self._first:
            return dict.fromkeys(self.sites, self._first.popleft())
        weights = self._gained / self._trials
        weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
        weights = (1 - FRESH) * weights + FRESH / len(weights)
        return {name: self._vary(site, weights) for name, site in self.sites.items()}

    def learn(self, drawn: dict[str, Trace], trial: Evaluation) -> None:
        """Record a trial's cost at every site."""
        if trial.error or not trial.site_costs:
            return
        costs = _costs(trial)
        for name, suffix in drawn.items():
            site = self.sites[name]
            if suffix in site.seen or name not in costs:
                continue
            before = site.best(self.price)
            site.seen[suffix] = costs[name]
            gained = max(0.0, site.value(before, self.price) - site.value(suffix, self.price)) / self._all
            for action in set(suffix) - set(before):
                self._gained[self._index[action]] += gained
                self._trials[self._index[action]] += 1 / len(self.sites)
            if len(suffix) == 1 and costs[name] == site.seen[()]:
                site.inert.add(suffix[0])

    def _vary(self, site: _Site, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Trace:
        best = site.best(self.price)
        likely = weights.copy()
        likely[[self._index[action] for action in site.inert]] *= INERT
        likely = np.cumsum(likely)
        for _ in range(ATTEMPTS):
            suffix = self._varied(best, likely)
            if suffix not in site.seen:
                return suffix
        return best

    def _varied(self, best: Trace, likely: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Trace:
        """Return entries with one added, removed or replaced; one time in three, with two such changes."""
        entries = list(best)
        for _ in range(1 + (self._rng.random() < 1 / 3)):
            edit = self._rng.random()
            if entries and edit < 0.15:
                del entries[int(self._rng.integers(len(entries)))]
                continue
            action = self.actions[int(np.searchsorted(likely, self._rng.random() * likely[-1]))]
            if action in entries:
                continue
            same = [i for i, text in enumerate(entries) if self._kinds[text] == self._kinds[action]]
            if entries and (edit < 0.4 or len(entries) >= LONGEST):
                where = same or range(len(entries))
                entries[where[int(self._rng.integers(len(where)))]] = action
            else:
                entries.append(action)
        return tuple(entries)


def _costs(evaluation: Evaluation) -> dict[str, Cost]:
    return {
        site: (free := evaluation.unpriced.get(site, cost), cost - free)
        for site, cost in evaluation.site_costs.items()
        if math.isfinite(cost)
    }
