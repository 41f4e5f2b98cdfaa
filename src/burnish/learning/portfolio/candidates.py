"""Next candidates for a portfolio: variations of the sequences that add most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from burnish.core.action import Action
from burnish.core.guide import Prior
from burnish.core.trace import Trace
from burnish.learning.portfolio.portfolio import Portfolio
from burnish.learning.portfolio.prior import fit_prior
from burnish.search.mutation import cross, mutate

CANDIDATES = 96  # of a generation; up to twice as many if entries are removed
TRIES = 50  # draws per candidate, to find sequences that were not tried yet
PARENTS = 64  # sequences of the portfolio that are varied, beside the reference
LONGEST = 14  # entries of a candidate
MOST_CHANGES = 2  # changed entries of a parent


def next_candidates(
    actions: Sequence[str], portfolio: Portfolio, rng: np.random.Generator
) -> tuple[list[int], list[Trace]]:
    """Return the parents' numbers in the portfolio, and untried sequences that vary those parents.

    Parents are the sequences that add most, and the reference, because sequences that begin with the
    reference take little time.
    """
    numbers, added = portfolio.numbers(PARENTS)
    numbers, added = [0, *numbers], [max(added, default=1.0), *added]
    parents = [portfolio.traces[i] for i in numbers]
    known = {*portfolio.traces, *portfolio.dropped, ()}
    parents_of, candidates = [], []

    def add(child: Trace, parent: int) -> None:
        if child not in known:
            known.add(child)
            parents_of.append(numbers[parent])
            candidates.append(child)

    if portfolio.generations % 2:
        for parent, trace in enumerate(parents):
            for at in range(len(trace)):
                add(trace[:at] + trace[at + 1 :], parent)
        if candidates:
            return parents_of[: 2 * CANDIDATES], candidates[: 2 * CANDIDATES]
    variation = Variation(fit_prior(actions, zip(parents, added, strict=True)), rng)
    shares = np.array(added) + 0.03 * max(added)
    shares /= shares.sum()
    for _ in range(TRIES * CANDIDATES):  # few actions and short parents may not have enough variations
        if len(candidates) == CANDIDATES:
            break
        parent, other = rng.choice(len(parents), size=2, p=shares)
        add(variation.candidate(parents[parent], parents[other])[:LONGEST], parent)
    return parents_of, candidates


@dataclass(frozen=True)
class Variation:
    """Random variation of sequences, with a prior over successive actions."""

    prior: Prior
    rng: np.random.Generator

    @cached_property
    def by_kind(self) -> dict[str, list[str]]:
        """The actions of each kind."""
        kinds: dict[str, list[str]] = {}
        for action in self.prior.actions:
            kinds.setdefault(Action.parse(action).kind, []).append(action)
        return kinds

    def candidate(self, parent: Trace, other: Trace) -> Trace:
        """Cross or join two sequences, or change one or two entries of `parent`."""
        kind = self.rng.random()
        if kind < 0.1:
            return parent + other
        if kind < 0.4:
            crossed = cross(parent, other, self.rng)
            return crossed if self.rng.random() < 0.6 else self.mutant(crossed)
        return self.mutant(parent)

    def mutant(self, trace: Trace) -> Trace:
        """Insert, remove, replace or move an entry, or choose another action of its kind; once or twice."""
        longest = len(trace) + MOST_CHANGES
        return mutate(trace, self._draw, self.rng, longest=longest, most=MOST_CHANGES, by_kind=self.by_kind)

    def _draw(self, before: Sequence[str]) -> str:
        if self.rng.random() < 0.5:
            return self.prior.draw(before[-1] if before else "", self.rng)
        return self.prior.actions[int(self.rng.integers(len(self.prior.actions)))]
