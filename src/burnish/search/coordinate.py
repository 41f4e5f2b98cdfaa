"""Coordinate descent where a compiler asks: change one answer at a time, and keep at once what gains."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from burnish.core.trace import Trace
from burnish.search.hill_climbing import hill_climbing
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace

TOGETHER = 8  # changes that are tried in one batch, each alone
LARGEST = 4  # entries that are changed at once when none alone gains any more


class Change(NamedTuple):
    """An entry that is appended to a trace, or taken back."""

    text: str
    back: bool


Effects = dict[Change, float]
"""What a change did to the log of the cost when it was tried last."""


def coordinate_descent(space: SearchSpace, rng: np.random.Generator) -> Proposals:
    """Try every other answer alone, keep what gains and go on from there, until nothing gains.

    A sweep tries each open question's other answer, and to take back each answer that was given; the most
    promising first: as the task has them in the first sweep, then by what the change did when it was tried
    last. The gains of a batch are kept together where that is better than the best of them alone. Where no
    single change gains, it tries a few at a time, drawn from those that cost least alone, and goes on from
    what gains. Where nothing is asked, it is hill climbing.
    """
    if not space.asks:
        yield from hill_climbing(space, rng)
        return
    effects: Effects = {}
    current = space.best_initial
    while True:
        (looked,) = yield Batch([current.trace], Ask.LEGAL | Ask.OTHERWISE)
        changes = [Change(text, True) for text in dict.fromkeys(current.trace)]
        if len(current.trace) < space.max_length:
            changes += [Change(text, False) for text in space.entries(looked)]
        changes.sort(key=lambda change: effects.get(change, 0.0))
        found = yield from _sweep(current, changes, effects)
        if found.cost == current.cost:
            found = yield from _several(current, changes, effects, rng)
        if found.cost == current.cost:
            return
        current = found


def _sweep(
    current: Evaluation, changes: Sequence[Change], effects: Effects
) -> Generator[Batch, list[Evaluation], Evaluation]:
    """Try each change once, alone; return where the gains led."""
    for begin in range(0, len(changes), TOGETHER):
        together = changes[begin : begin + TOGETHER]
        evaluations = yield Batch([changed(current.trace, [change]) for change in together])
        for change, found in zip(together, evaluations, strict=True):
            effects[change] = math.log(found.cost / current.cost)
        gains = [change for change in together if effects[change] < 0]
        if not gains:
            continue
        best = min(evaluations, key=lambda item: item.order)
        if len(gains) > 1:
            (joined,) = yield Batch([changed(current.trace, gains)])
            best = min(best, joined, key=lambda item: item.order)
        current = best
    return current


def _several(
    current: Evaluation, changes: Sequence[Change], effects: Effects, rng: np.random.Generator
) -> Generator[Batch, list[Evaluation], Evaluation]:
    """Try a few changes at a time until that gains; return `current` where there are too few to draw from.

    They are drawn with a probability of 1 / rank, since what they cost alone differs by orders of magnitude.
    """
    known = sorted(
        (change for change in changes if math.isfinite(effects.get(change, math.inf))),
        key=effects.__getitem__,
    )
    if len(known) < 2:
        return current
    shares = 1 / np.arange(1, len(known) + 1)
    shares /= shares.sum()
    most = min(LARGEST, len(known))
    while True:
        drawn = [
            rng.choice(len(known), size=int(rng.integers(2, most + 1)), replace=False, p=shares)
            for _ in range(TOGETHER)
        ]
        evaluations = yield Batch([changed(current.trace, [known[i] for i in which]) for which in drawn])
        best = min(evaluations, key=lambda item: item.order)
        if best.cost < current.cost:
            return best


def changed(trace: Trace, changes: Iterable[Change]) -> Trace:
    """Return a trace without the last of each entry that is taken back, and with the others appended."""
    entries = list(trace)
    for change in changes:
        if change.back and change.text in entries:
            del entries[len(entries) - 1 - entries[::-1].index(change.text)]
        elif not change.back:
            entries.append(change.text)
    return tuple(entries)
