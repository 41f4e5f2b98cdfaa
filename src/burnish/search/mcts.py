"""Monte-Carlo tree search over traces with a policy and a value, as in AlphaZero (Silver et al. 2018)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from burnish.core.trace import Trace
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace

BASE = 19652.0  # AlphaZero's c_base: the number of visits at which exploration begins to weigh more

Step = tuple["Node", int]  # a node and the index of a child


@dataclass(eq=False)
class Node:
    """An evaluated state, and the statistics of its n possible children."""

    value: float  # of the state itself
    trace: Trace
    suffixes: Sequence[Trace]  # the entries from this node to each child
    priors: NDArray[np.float64]  # [n], probabilities of the children, by the policy or the space's prior
    visits: NDArray[np.int64]  # [n], finished evaluations in each child's subtree, including its own
    totals: NDArray[np.float64]  # [n], sums of the values of these evaluations
    pending: NDArray[np.int64]  # [n], evaluations under way in each child's subtree
    alive: NDArray[np.bool_]  # [n], False if the child's subtree has nothing left to try
    children: dict[int, Node] = field(default_factory=dict)

    @classmethod
    def new(cls, value: float, trace: Trace, suffixes: Sequence[Trace], priors: NDArray[np.float64]) -> Node:
        """Return a node without visited children; children with a prior of 0 are never tried."""
        nothing = np.zeros(len(suffixes))
        counts = nothing.astype(np.int64)
        return cls(value, trace, suffixes, priors, counts, nothing, counts.copy(), priors > 0)


def mcts(
    space: SearchSpace,
    rng: np.random.Generator,
    *,
    batch: int = 8,
    exploration: float = 4.0,
    uniform: float = 0.1,
    rollout: int = 4,
) -> Proposals:
    """Grow a tree of traces where the policy and the values so far promise most.

    A state's value is -log(cost), plus the critic's log(cost now / final cost) if that is above 0, because a
    trace may stop anywhere. The children of the root are the initial traces, including the empty one.

    Args:
        space: The search space. Without a policy, its prior gives the probabilities, or all are equal.
        rng: Breaks ties, and draws roll-outs.
        batch: The most leaves evaluated together; fewer if the selection returns to a leaf of the batch.
        exploration: AlphaZero's c_init: 1.25 there; larger here, because there are many more actions.
        uniform: The share of the priors that is equal for all actions, because no policy is always right.
        rollout: The most entries of a random suffix. It is evaluated after each leaf, at the price of one
            more evaluation, and the leaf gets the better value. 0: no suffix, for good policies.
    """
    root = _root(space.initial)
    while root.alive.any():
        leaves = _leaves(root, batch, exploration, rng)
        traces = [node.trace + node.suffixes[i] for *_, (node, i) in leaves]
        found = yield Batch(traces, space.legal | Ask.PREDICTION)
        values = [_value(evaluation) for evaluation in found]
        if rollout:
            further = yield Batch([trace + space.random_trace(rng, rollout) for trace in traces])
            pairs = zip(values, further, strict=True)
            values = [value if item.error else max(value, -math.log(item.cost)) for value, item in pairs]
        for path, evaluation, value in zip(leaves, found, values, strict=True):
            suffixes = [(text,) for text in space.entries(evaluation)]
            priors = space.probabilities(evaluation, uniform)
            _add(path, evaluation, Node.new(value, evaluation.trace, suffixes, priors), space.max_length)


def puct(node: Node, exploration: float) -> NDArray[np.float64]:
    """Score a node's children: Q(s, a) + C(s) P(s, a) sqrt(N(s)) / (1 + N(s, a)), -inf if not alive.

    C(s) = log((1 + N(s) + BASE) / BASE) + exploration; N(s) counts the node's own evaluation. Q is the mean
    value, scaled to [0, 1] by the least and the largest value of the node and its children, because values
    have no bounds here (mctx's qtransform_by_parent_and_siblings). Evaluations under way count as visits of
    value 0 (virtual losses). The Q of an unvisited child is the node's scaled value times the unvisited share
    of the priors (Leela Chess Zero's first-play urgency). So the search follows a confident policy through
    worse states. Without a policy, it prefers breadth to depth where no child improves.
    """
    seen = node.visits > 0
    means = np.divide(node.totals, node.visits, out=np.full(len(seen), node.value), where=seen)
    low, high = min(node.value, means.min()), max(node.value, means.max())
    counts = node.visits + node.pending
    unseen = (node.value - low) * (1 - node.priors[seen].sum())
    q = np.where(seen, (means - low) * node.visits / np.maximum(1, counts), unseen) / max(high - low, 1e-8)
    total = 1 + counts.sum()
    c = math.log((1 + total + BASE) / BASE) + exploration
    scores: NDArray[np.float64] = q + c * node.priors * math.sqrt(total) / (1 + counts)
    return np.where(node.alive, scores, -np.inf)


def back_up(path: Sequence[Step], value: float) -> None:
    """Add a visit with a leaf's value at every step of the path to the leaf."""
    for node, i in path:
        node.visits[i] += 1
        node.totals[i] += value


def _root(initial: Sequence[Evaluation]) -> Node:
    """Return the root, whose children are the initial traces; the cost of each counts as one visit."""
    values = np.array([-math.log(item.cost) for item in initial])
    priors = np.full(len(initial), 1 / len(initial))
    root = Node.new(values.min(), (), [item.trace for item in initial], priors)
    root.visits += 1
    root.totals += values
    return root


def _leaves(root: Node, most: int, exploration: float, rng: np.random.Generator) -> list[list[Step]]:
    """Select paths to at most `most` leaves; stop at a leaf that is already selected."""
    leaves: list[list[Step]] = []
    while len(leaves) < most:
        node, path = root, list[Step]()
        while True:
            scores = puct(node, exploration)
            best = np.flatnonzero(scores == scores.max())
            i = int(best[0] if len(best) == 1 else rng.choice(best))
            path.append((node, i))
            if i not in node.children:
                break
            node = node.children[i]
        if node.pending[i]:
            break
        for node, i in path:
            node.pending[i] += 1
        leaves.append(path)
    return leaves


def _value(evaluation: Evaluation) -> float:
    ahead = evaluation.prediction.value if evaluation.prediction else 0.0
    return max(0.0, ahead) - math.log(evaluation.cost) if math.isfinite(evaluation.cost) else -math.inf


def _add(path: list[Step], evaluation: Evaluation, child: Node, longest: int) -> None:
    """Add an evaluated leaf to the tree, unless it crashed or equals its parent; mark dead subtrees."""
    for node, i in path:
        node.pending[i] -= 1
    parent, at = path[-1]
    unchanged = len(path) > 1 and child.trace == parent.trace
    if not (evaluation.error or unchanged):
        back_up(path, child.value)
        if len(child.trace) < longest:
            parent.children[at] = child
    for node, i in reversed(path):
        below = node.children.get(i)
        if below is not None and below.alive.any():
            break
        node.alive[i] = False
