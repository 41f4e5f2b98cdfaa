"""Greedy search, with look-ahead or with random steps in between."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace


def greedy(
    space: SearchSpace, rng: np.random.Generator, *, epsilon: float = 0.0, lookahead: int = 1
) -> Proposals:
    """Append the best action repeatedly, until no action helps.

    With `lookahead`, the best action is the first one of the best sequence of at most `lookahead` actions. So
    an action that increases the cost is taken if later actions make up for it. In every state, all such
    sequences are evaluated.

    With `epsilon`, each step is a random action with that probability, whatever its cost. When no action
    helps, the search restarts at the best initial trace plus a random action, so it never ends.
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
    """Run greedy search in which, by default, one of five steps is a random action."""
    return greedy(space, rng, epsilon=epsilon)


def _best_sequence(
    space: SearchSpace, state: Evaluation, lookahead: int
) -> Generator[Batch, list[Evaluation], tuple[Evaluation, Evaluation]]:
    """Return the evaluations after the first action and after all actions of the best sequence."""
    seen: set[str] = set()
    level = [(state, state)]  # after the first action, and after all actions so far
    found: list[tuple[Evaluation, Evaluation]] = []
    for depth in range(lookahead):
        ways = [(first, trace) for first, last in level for trace in space.extensions(last)]
        deeper = lookahead > 1  # a sequence may then lead through a costlier state: DIGEST measures its end
        ask = space.legal | Ask.DIGEST if deeper else space.legal
        evaluations = yield Batch([trace for _, trace in ways], ask)
        pairs = zip((first for first, _ in ways), evaluations, strict=True)
        level = [(first if depth else last, last) for first, last in pairs]
        found += level
        if deeper:  # of two sequences to the same state, the shorter one is enough
            level = [pair for pair in level if not pair[1].error and _is_new(pair[1], seen)]
    return min(found, default=(state, state), key=lambda pair: pair[1].order)


def _is_new(state: Evaluation, seen: set[str]) -> bool:
    if state.digest in seen:
        return False
    seen.add(state.digest)
    return True
