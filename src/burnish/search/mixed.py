"""The default search: a genetic algorithm, and a refinement of every site, in turn; or coordinate descent."""

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

AT_ONCE = 2  # learned suffixes, with which the sites are refined first
WORTH = 0.01  # of the program's cost, that the first of those must gain
PATIENCE = 3  # batches of sitewise search in a row without a better trace, before the next generation


def mixed(space: SearchSpace, rng: np.random.Generator) -> SiteProposals:
    """Alternate sitewise search from the best trace so far and genetic search for the program.

    Whole-program traces and those of single sites find different gains: inlining and outlining need the
    one, what suits a function and not its neighbour the other. What was found at single sites is appended
    to every candidate, so that a new beginning competes with all that was learned about the old one.
    In a large program, whose evaluations are few, the sites are refined one by one instead; where sites do
    not touch each other, all at once, each by trials of its own. What a compiler asks is answered by
    coordinate descent.
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
        if space.by_state:  # what is at sites belongs to its place in the trace
            evaluations = yield generation
            best = min([best, *evaluations], key=lambda item: item.order)
            generation = evolution.send(evaluations)
            continue
        evaluations = yield Batch([trace + of_sites(best.trace) for trace in generation.traces])
        best = min([best, *evaluations], key=lambda item: item.order)
        generation = evolution.send(_without_sites(evaluations))


def sites_first(space: SearchSpace, rng: np.random.Generator) -> Proposals:
    """Refine the sites of the best initial trace by the first learned suffixes.

    What suits a site often suits it behind any other trace, too: an attribute of a function such as its
    frame pointer. So this comes before most other initial traces, which then have those entries at their
    ends. Where the first suffix has next to nothing to gain, as a frame pointer has without unwind tables,
    the others are left for later.
    """
    if not space.suffixes:
        return
    (current,) = yield Batch([space.best_initial.trace], Ask.SITE_COSTS)
    (tried,) = yield Batch([current.trace + space.suffixes[0]], Ask.SITE_COSTS, partial=True)
    gains = (cost - tried.site_costs.get(site, cost) for site, cost in current.site_costs.items())
    if sum(max(0.0, gain) for gain in gains) > WORTH * current.cost:
        yield from refine(current, space.suffixes[:AT_ONCE], partial=True)


def _without_sites(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the evaluations as those of whole-program candidates, with which the genetic search goes on."""
    return [replace(item, trace=of_program(item.trace), path=of_program(item.path)) for item in evaluations]
