"""Beam search with look-ahead."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from burnish.core.trace import Trace
from burnish.search.space import Batch, Evaluation, Proposals, Space


def beam(space: Space, rng: np.random.Generator, *, width: int = 4, lookahead: int = 1) -> Proposals:
    """Extend the `width` best traces by every action, judging each by the best within `lookahead` steps.

    It ends when no extension, looked ahead, is better than what it came from. With look-ahead 1 and
    width 1 it is greedy search.

    Args:
        space: What to choose from.
        rng: Not used: the search is exhaustive.
        width: How many traces are kept.
        lookahead: An action's score is the lowest cost that at most so many steps, itself the first, reach.
    """
    front = sorted(space.starts, key=lambda start: start.order)[:width]
    best = front[0].cost
    while front:
        children = _changed(front, (yield Batch(_extensions(front, space))))
        scores = {child.trace: child.cost for child in children}
        ancestor = {child.trace: child.trace for child in children}
        level = children
        for _ in range(lookahead - 1):
            parents = {child.trace: ancestor[child.trace] for child in level}
            level = _changed(level, (yield Batch(_extensions(level, space))))
            for child in level:
                root = next(
                    parents[child.trace[:cut]]
                    for cut in range(len(child.trace), -1, -1)
                    if child.trace[:cut] in parents
                )
                ancestor[child.trace] = root
                scores[root] = min(scores[root], child.cost)
        children.sort(key=lambda child: (scores[child.trace], child.order))
        if not children or scores[children[0].trace] >= best:
            return
        best = scores[children[0].trace]
        front = [child for child in children[:width] if len(child.trace) < space.max_length]


def _extensions(front: Iterable[Evaluation], space: Space) -> list[Trace]:
    return [(*parent.trace, action) for parent in front for action in space.actions]


def _changed(parents: Iterable[Evaluation], children: Iterable[Evaluation]) -> list[Evaluation]:
    """Keep one evaluation for each trace that is not its parent's, and drop the crashed."""
    known = {parent.trace for parent in parents}
    kept = {child.trace: child for child in children if child.trace not in known and not child.error}
    return list(kept.values())
