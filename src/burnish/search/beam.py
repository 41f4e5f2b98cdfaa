"""Beam search: exhaustive, guided by a policy, or in a tree as LoopTune does it (Grubisic et al. 2023)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterable

import numpy as np

from burnish.core.trace import Trace
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace

UNKNOWN = 1e-6  # probability spread over all actions, so that those unknown to the policy come last


def beam(space: SearchSpace, rng: np.random.Generator, *, width: int = 4, patience: int = 8) -> Proposals:
    """Extend the `width` best traces by every action; width 1 is greedy search.

    The search ends when no extension is cheaper than the best trace of the previous round.

    With a policy, the search starts with a beam of width 1 that follows the policy: see `widening`. A guided
    beam ends after `patience` steps in a row without a lower cost. `rng` is not used.
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
    """Run beams of width w = 1, 2, 4, ..., which extend each trace by its w most probable actions.

    Width 1 gives greedy roll-outs of the policy. Beams of width w start at the w best initial traces and at
    the empty trace. The search ends when w covers all actions and the beams of this width gained nothing.
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
    """Run one beam from a trace, and return its lowest cost."""
    seen = yield Batch([root], space.legal | Ask.PREDICTION)
    front = [item for item in seen if not item.error]
    best = min((item.cost for item in front), default=math.inf)
    log_probs = {item.trace: 0.0 for item in front}  # of the entries after the root
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
    """Return the log of the final cost that the critic predicts; at most the log of the state's own cost."""
    ahead = state.prediction.value if state.prediction else 0.0
    return math.log(state.cost) - max(0.0, ahead)


def _extensions(front: Iterable[Evaluation], space: SearchSpace) -> Batch:
    return Batch([trace for parent in front for trace in space.extensions(parent)], space.legal)


def _changed(parents: Iterable[Evaluation], children: Iterable[Evaluation]) -> list[Evaluation]:
    """Return one evaluation per new trace, without crashes and without traces equal to a parent's."""
    known = {parent.trace for parent in parents}
    kept = {child.trace: child for child in children if child.trace not in known and not child.error}
    return list(kept.values())


def beam_tree(space: SearchSpace, rng: np.random.Generator, *, width: int, depth_first: bool) -> Proposals:
    """Extend a trace by every action, then do the same with its `width` best children.

    Depth-first search descends to the best child, and backtracks when a trace has its maximal length.
    Breadth-first search goes level by level. Unlike in `beam`, children of different parents do not compete:
    there are width^depth traces. A state that several traces reach is extended only once. `rng` is not
    used.
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
