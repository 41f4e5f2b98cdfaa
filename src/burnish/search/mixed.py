"""The default search: genetic search alternates with refinement of all sites; or coordinate descent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from burnish.core.trace import of_program, of_sites
from burnish.search.coordinate import coordinate_descent
from burnish.search.each_site import each_site
from burnish.search.genetic import genetic
from burnish.search.partwise import partwise
from burnish.search.sitewise import refine, sitewise
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace, SiteProposals

AT_ONCE = 2  # learned suffixes for the first refinement of sites
LEAST_GAIN = 0.01  # least gain of the first learned suffix, as a share of the program's cost
PATIENCE = 3  # batches of sitewise search in a row without a better trace, before the next generation


def mixed(space: SearchSpace, rng: np.random.Generator) -> SiteProposals:
    """Alternate between sitewise search from the best trace so far and genetic search for the whole program.

    The two find different gains: inlining and outlining need whole-program entries, and an action that helps
    one function but not its neighbour needs a site. The entries found at single sites are appended to every
    candidate, so a new whole-program trace competes with the old one on equal terms.

    In a large program, which allows few evaluations, the sites are first refined in isolation (partwise).
    Independent sites are refined at once, each by separate trials (each_site). If the compiler asks
    questions, coordinate descent answers them.
    """
    if space.asks:
        yield from coordinate_descent(space, rng)
        return
    if space.large:
        yield from partwise(replace(space, suffixes=space.suffixes[AT_ONCE:]), rng)
    if space.independent_sites and space.site_actions:
        yield from each_site(space, rng)
    if not space.site_actions:  # nothing to refine
        yield from genetic(space, rng)
    best = space.best_initial
    evolution = genetic(space, rng)
    generation = next(evolution)
    refined: Evaluation | None = None
    while True:
        if refined is None or best.cost < refined.cost:
            refining = sitewise(replace(space, initial=(best,)), rng)
            trial = next(refining)
        stale = 0
        while stale < PATIENCE:
            evaluations = yield trial
            better = min([best, *evaluations], key=lambda item: item.order)
            stale = 0 if better.cost < best.cost else stale + 1
            best = better
            trial = refining.send(evaluations)
        refined = best
        if space.by_state:  # entries at sites may be illegal at another position of the trace
            evaluations = yield generation
            best = min([best, *evaluations], key=lambda item: item.order)
            generation = evolution.send(evaluations)
            continue
        evaluations = yield Batch([trace + of_sites(best.trace) for trace in generation.traces])
        best = min([best, *evaluations], key=lambda item: item.order)
        generation = evolution.send(_without_sites(evaluations))


def sites_first(space: SearchSpace, rng: np.random.Generator) -> Proposals:
    """Refine the sites of the best initial trace with the first learned suffixes.

    Entries that gain at a site often gain there after any other trace too, for example a function's
    frame-pointer attribute. So this refinement runs before most other initial traces are evaluated, and its
    entries are appended to them. If the first suffix gains almost nothing, as the frame pointer does without
    unwind tables, no site is refined yet.
    """
    if not space.suffixes:
        return
    (current,) = yield Batch([space.best_initial.trace], Ask.SITE_COSTS)
    (tried,) = yield Batch([current.trace + space.suffixes[0]], Ask.SITE_COSTS, partial=True)
    gains = (cost - tried.site_costs.get(site, cost) for site, cost in current.site_costs.items())
    if sum(max(0.0, gain) for gain in gains) > LEAST_GAIN * current.cost:
        yield from refine(current, space.suffixes[:AT_ONCE], partial=True)


def _without_sites(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the evaluations without entries at sites, as those of the genetic search's candidates."""
    return [replace(item, trace=of_program(item.trace), path=of_program(item.path)) for item in evaluations]
