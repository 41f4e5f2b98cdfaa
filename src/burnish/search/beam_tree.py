"""LoopTune's beam search in a tree (Grubisic et al. 2023), depth-first or breadth-first."""

from __future__ import annotations

from collections import deque

import numpy as np

from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace


def beam_tree(space: SearchSpace, rng: np.random.Generator, *, width: int, depth_first: bool) -> Proposals:
    """Extend a trace by every action, then do the same with its `width` best children.

    Depth-first search descends to the best child, and backtracks when a trace has its maximal length.
    Breadth-first search goes level by level. Unlike in `beam`, children of different parents do not compete:
    there are width^depth traces. A state that several traces reach is extended only once.

    Args:
        space: The search space.
        rng: Not used: the search is exhaustive.
        width: The number of children extended per state.
        depth_first: True for depth-first search, False for breadth-first search.
    """
    ask = space.legal | Ask.DIGEST
    waiting = deque((yield Batch([space.best_initial.trace], ask)))
    seen = {state.digest for state in waiting}
    while waiting:
        state = waiting.pop() if depth_first else waiting.popleft()
        if state.error or len(state.trace) >= space.max_length:
            continue
        children = yield Batch(space.extensions(state), ask)
        best: list[Evaluation] = []
        for child in sorted(children, key=lambda child: child.order):
            if child.digest not in seen and not child.error and len(best) < width:
                seen.add(child.digest)
                best.append(child)
        waiting.extend(reversed(best) if depth_first else best)
