"""The next candidates for a portfolio: what those that add most are varied to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burnish.core.action import Action
from burnish.core.guide import Prior
from burnish.core.trace import Trace
from burnish.portfolio.portfolio import Portfolio
from burnish.portfolio.prior import fit_prior

CANDIDATES = 96  # of a generation, of which so many are kept
TRIES = 50  # at a child that nobody has tried
PARENTS = 64  # sequences of the portfolio that breed
LONGEST = 14  # entries


def next_candidates(
    actions: Sequence[str], portfolio: Portfolio, rng: np.random.Generator
) -> tuple[list[int], list[Trace]]:
    """Return sequences that nobody has tried, and the numbers of those that they come from.

    Parents are those that add most, and the reference: what begins with it takes little time.
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
    prior = fit_prior(actions, zip(parents, added, strict=True))
    shares = np.array(added) + 0.03 * max(added)
    shares /= shares.sum()
    for _ in range(TRIES * CANDIDATES):  # of few actions and short parents there are not that many
        if len(candidates) == CANDIDATES:
            break
        parent, other = rng.choice(len(parents), size=2, p=shares)
        add(_child(parents[parent], parents[other], prior, rng)[:LONGEST], parent)
    return parents_of, candidates


def _child(parent: Trace, other: Trace, prior: Prior, rng: np.random.Generator) -> Trace:
    """Cross two sequences, join them, or change one or two entries of the one."""
    kind = rng.random()
    if kind < 0.1:
        return parent + other
    if kind < 0.4:
        crossed = parent[: int(rng.integers(len(parent) + 1))] + other[int(rng.integers(len(other) + 1)) :]
        return crossed if rng.random() < 0.6 else _mutant(crossed, prior, rng)
    return _mutant(parent, prior, rng)


def _mutant(trace: Trace, prior: Prior, rng: np.random.Generator) -> Trace:
    """Insert, remove, replace or move an entry, or choose another of the same pass; once or twice."""
    entries = list(trace)

    def other(at: int) -> str:
        if rng.random() < 0.5:
            return prior.draw(entries[at - 1] if at else "", rng)
        return prior.actions[int(rng.integers(len(prior.actions)))]

    for _ in range(int(rng.integers(1, 3))):
        at = int(rng.integers(len(entries))) if entries else 0
        match rng.choice(["insert", "insert", "remove", "replace", "move", "parameters"]):
            case "remove" if entries:
                entries.pop(at)
            case "replace" if entries:
                entries[at] = other(at)
            case "move" if entries:
                moved = entries.pop(at)
                entries.insert(int(rng.integers(len(entries) + 1)), moved)
            case "parameters" if entries:
                name = Action.parse(entries[at]).kind
                alike = [action for action in prior.actions if Action.parse(action).kind == name]
                entries[at] = alike[int(rng.integers(len(alike)))]
            case _:
                at = int(rng.integers(len(entries) + 1))
                entries.insert(at, other(at))
    return tuple(entries)
