"""Beam search in a tree, as LoopTune has it (Grubisic et al. 2023): depth-first or breadth-first."""

from __future__ import annotations

from collections import deque

import numpy as np

from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace


def beam_tree(space: SearchSpace, rng: np.random.Generator, *, width: int, depth_first: bool) -> Proposals:
    """Extend a trace by every action, go on from the `width` best, and from the best of each of those.

    Depth-first goes down to the children of the best child, and backtracks where a trace may not be longer;
    breadth-first is level by level. Unlike in `beam`, the children of different parents do not compete: there
    are width^depth traces. No state is extended twice, whatever trace it is reached by.

    Args:
        space: What to choose from.
        rng: Not used: the search is exhaustive.
        width: Children of each state that are extended.
        depth_first: Which of them is the next one.
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
