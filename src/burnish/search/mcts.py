"""Monte-Carlo tree search with a policy and a value, as in AlphaZero (Silver et al. 2018), over traces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from burnish.core.trace import Trace
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace

BASE = 19652.0  # AlphaZero's c_base: when exploration begins to count for more

Step = tuple["Node", int]  # a node, and which of its children


@dataclass(eq=False)
class Node:
    """A state that was evaluated, and what is known of the n ways on from it."""

    value: float  # its own
    trace: Trace
    suffixes: Sequence[Trace]  # that lead from it to its children
    priors: NDArray[np.float64]  # [n], of the policy
    visits: NDArray[np.int64]  # [n], evaluations below each child, its own among them
    totals: NDArray[np.float64]  # [n], the sums of their values
    pending: NDArray[np.int64]  # [n], evaluations below that are under way
    alive: NDArray[np.bool_]  # [n], False where nothing is left to be tried
    children: dict[int, Node] = field(default_factory=dict)

    @classmethod
    def new(cls, value: float, trace: Trace, suffixes: Sequence[Trace], priors: NDArray[np.float64]) -> Node:
        """Return a node whose children are all unknown; those with a prior of 0 cannot be."""
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
    """Grow a tree of traces where the policy and what was found so far promise most.

    A state's value is -log(cost), plus the critic's log(cost now / cost in the end) where that is above 0: a
    trace may stop anywhere. The children of the root are the initial traces; the empty trace is one of them.

    Args:
        space: What to choose from. Without a policy its prior says what is probable, else all is alike.
        rng: Breaks ties, and draws roll-outs.
        batch: So many leaves are evaluated together, fewer where the policy is sure of what comes next.
        exploration: AlphaZero's c_init, which is 1.25 there: here are many more actions.
        uniform: The share of the priors that is the same for all actions: no policy is always right.
        rollout: A leaf is also worth what a random trace up to this length behind it leads to, which is an
            evaluation more; 0 leaves that out, for policies that know better.
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
    """Score a node's children: Q(s, a) + C(s) P(s, a) sqrt(N(s)) / (1 + N(s, a)), -inf for dead ones.

    C(s) = log((1 + N(s) + BASE) / BASE) + exploration; N(s) counts the node's own evaluation. Q is the mean
    of the values, put between 0 and 1 by the least and the largest of the node's and its children's, as
    values have no bounds here: mctx's qtransform_by_parent_and_siblings. What is under way counts as visits
    of value 0: virtual losses. The unvisited are worth what the node is, less the share of the priors that
    is visited: Leela Chess Zero's first-play urgency. So a sure policy is trusted through states that are
    worse, and without one breadth comes before going down where nothing gets better.
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
    """Count a leaf's value at every step of the way to it."""
    for node, i in path:
        node.visits[i] += 1
        node.totals[i] += value


def _root(initial: Sequence[Evaluation]) -> Node:
    """Return a node above the initial traces, whose costs count as a visit of each."""
    values = np.array([-math.log(item.cost) for item in initial])
    priors = np.full(len(initial), 1 / len(initial))
    root = Node.new(values.min(), (), [item.trace for item in initial], priors)
    root.visits += 1
    root.totals += values
    return root


def _leaves(root: Node, most: int, exploration: float, rng: np.random.Generator) -> list[list[Step]]:
    """Select ways to leaves, until one leads where another of them does."""
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
    """Put an evaluated leaf into the tree, unless it crashed or is what it came from."""
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
