"""Beam search: exhaustive, or guided by a policy."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable

import numpy as np

from burnish.core.trace import Trace
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace

UNKNOWN = 1e-6  # the share of the actions that a policy does not know: they come last


def beam(space: SearchSpace, rng: np.random.Generator, *, width: int = 4, patience: int = 8) -> Proposals:
    """Extend the `width` best traces by every action; with width 1 it is greedy search.

    It ends when no extension is better than what it came from.

    With a policy it begins as narrow as the policy alone, and widens: see `widening`.

    Args:
        space: What to choose from.
        rng: Not used: the search is exhaustive.
        width: How many traces are kept without a policy.
        patience: After so many actions in a row that made nothing cheaper a guided beam ends.
    """
    if space.policy:
        yield from widening(space, patience)
        return
    front = sorted(space.initial, key=lambda item: item.order)[:width]
    best = front[0].cost
    while front:
        children = _changed(front, (yield _extensions(front, space)))
        children.sort(key=lambda child: child.order)
        if not children or children[0].cost >= best:
            return
        best = children[0].cost
        front = [child for child in children[:width] if len(child.trace) < space.max_length]


def widening(space: SearchSpace, patience: int) -> Proposals:
    """Run beams of width 1, 2, 4, ..., in which each trace is extended by as many most probable actions.

    The first are greedy roll-outs of the policy. They begin at the empty trace and at as many of the best
    initial traces. It ends when no action is left out any more and a wider beam has found nothing better.
    """
    best = space.best_initial.cost
    roots = [item.trace for item in sorted(space.initial, key=lambda item: item.order)]
    width = 1
    while True:
        before = best
        for root in dict.fromkeys([*roots[:width], ()]):
            best = min(best, (yield from _guided(space, root, width, patience)))
        if width >= len(space.actions) and best == before:
            return
        width *= 2


def _guided(
    space: SearchSpace, root: Trace, width: int, patience: int
) -> Generator[Batch, list[Evaluation], float]:
    """Run one beam from a trace, and return the lowest cost that it came by."""
    seen = yield Batch([root], space.legal | Ask.PREDICTION)
    front = [item for item in seen if not item.error]
    best = min((item.cost for item in front), default=math.inf)
    log_probs = {item.trace: 0.0 for item in front}  # of what follows the root
    stale = 0
    while front and stale < patience:
        extended: dict[Trace, float] = {}
        for parent in front:
            shares = space.probabilities(parent, UNKNOWN)
            entries = space.entries(parent)
            for i in np.argsort(-shares, kind="stable")[:width]:
                if shares[i] > 0:
                    extended[*parent.trace, entries[i]] = log_probs[parent.trace] + math.log(shares[i])
        children = _changed(front, (yield Batch(list(extended), space.legal | Ask.PREDICTION)))
        log_probs = {child.trace: extended.get(child.trace, -math.inf) for child in children}
        children.sort(key=lambda child: (_promised(child), -log_probs[child.trace], child.order))
        front = [child for child in children[:width] if len(child.trace) < space.max_length]
        lowest = min((child.cost for child in children), default=math.inf)
        stale = 0 if lowest < best else stale + 1
        best = min(best, lowest)
    return best


def _promised(state: Evaluation) -> float:
    """Return the log of the cost that the critic expects in the end, or of the state's if that is less."""
    ahead = state.prediction.value if state.prediction else 0.0
    return math.log(state.cost) - max(0.0, ahead)


def _extensions(front: Iterable[Evaluation], space: SearchSpace) -> Batch:
    return Batch([trace for parent in front for trace in space.extensions(parent)], space.legal)


def _changed(parents: Iterable[Evaluation], children: Iterable[Evaluation]) -> list[Evaluation]:
    """Keep one evaluation for each trace that is not its parent's, and drop the crashed."""
    known = {parent.trace for parent in parents}
    kept = {child.trace: child for child in children if child.trace not in known and not child.error}
    return list(kept.values())
