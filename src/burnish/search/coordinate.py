"""Coordinate descent over a compiler's questions: change one answer at a time, and keep gains at once."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from burnish.core.trace import Trace
from burnish.search.hill_climbing import hill_climbing
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace

TOGETHER = 8  # trials in one batch
LARGEST = 4  # most changes in one trial, when no single change gains any more


class Change(NamedTuple):
    """An entry to append to a trace, or to remove from it (`back`)."""

    text: str
    back: bool


Effects = dict[Change, float]
"""By change: the difference that it made to the log of the cost in its last trial."""


def coordinate_descent(space: SearchSpace, rng: np.random.Generator) -> Proposals:
    """Try each single change of an answer, keep the changes that gain, and repeat until nothing gains.

    A sweep tries the other answer to each open question, and the removal of each answer given so far. The
    most promising changes come first: in the first sweep in the task's order, later by their last effect. If
    several changes of a batch gain, all are kept if together they are cheaper than the best one. When no
    single change gains, a few are tried together, mostly those that cost least; a gain starts the next
    sweep. If the compiler asks nothing, this is hill climbing.
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
    """Try each change once, by itself; return the evaluation with all kept changes."""
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
    """Try a few changes at a time until a trial gains; return `current` if fewer than two can be drawn.

    A change's probability is proportional to 1 / rank, because the effects of single changes differ by orders
    of magnitude.
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
    """Apply changes to a trace: a removal deletes the last equal entry, the others append their entries."""
    entries = list(trace)
    for change in changes:
        if change.back and change.text in entries:
            del entries[len(entries) - 1 - entries[::-1].index(change.text)]
        elif not change.back:
            entries.append(change.text)
    return tuple(entries)
