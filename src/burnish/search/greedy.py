"""Greedy search, with look-ahead or with random steps in between."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace


def greedy(
    space: SearchSpace, rng: np.random.Generator, *, epsilon: float = 0.0, lookahead: int = 1
) -> Proposals:
    """Append the best action again and again, until none helps.

    With `lookahead`, that is the first action of the best sequence of at most so many: what makes things
    worse is taken where what comes then makes up for it. All sequences are evaluated in every state.

    With `epsilon`, a step is a random action with that probability, whatever it costs, and when
    nothing helps the search begins again at the best initial trace: it then goes on for ever.
    """
    current = space.best_initial
    while True:
        if epsilon and rng.random() < epsilon:
            (current,) = yield Batch([(*current.trace, space.random_action(rng))], space.legal)
            continue
        first, best = yield from _best_sequence(space, current, lookahead)
        if best.cost < current.cost and len(best.trace) <= space.max_length:
            current = first
        elif epsilon:
            again = (*space.best_initial.trace, space.random_action(rng))
            (current,) = yield Batch([again], space.legal)
        else:
            return


def epsilon_greedy(space: SearchSpace, rng: np.random.Generator, *, epsilon: float = 0.2) -> Proposals:
    """Greedy search that takes a random action in one of five steps."""
    return greedy(space, rng, epsilon=epsilon)


def _best_sequence(
    space: SearchSpace, state: Evaluation, lookahead: int
) -> Generator[Batch, list[Evaluation], tuple[Evaluation, Evaluation]]:
    """Return what the first action of the best sequence leads to, and the whole of it."""
    seen: set[str] = set()
    level = [(state, state)]  # what the first action leads to, and all so far
    found: list[tuple[Evaluation, Evaluation]] = []
    for depth in range(lookahead):
        ways = [(first, trace) for first, last in level for trace in space.extensions(last)]
        deeper = lookahead > 1  # a state is then also reached through one that costs more
        ask = space.legal | Ask.DIGEST if deeper else space.legal
        evaluations = yield Batch([trace for _, trace in ways], ask)
        pairs = zip((first for first, _ in ways), evaluations, strict=True)
        level = [(first if depth else last, last) for first, last in pairs]
        found += level
        if deeper:  # the shorter of two ways to a state is enough
            level = [pair for pair in level if not pair[1].error and _is_new(pair[1], seen)]
    return min(found, default=(state, state), key=lambda pair: pair[1].order)


def _is_new(state: Evaluation, seen: set[str]) -> bool:
    if state.digest in seen:
        return False
    seen.add(state.digest)
    return True
