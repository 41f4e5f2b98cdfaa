"""Monte-Carlo tree search: its formulas by hand, on small trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from burnish.core.guide import Prediction
from burnish.search.mcts import Node, Step, back_up, mcts, puct
from burnish.search.space import Ask, Batch, Evaluation, SearchSpace
from tests.search.guides import Perfect

PRIORS = np.array([0.5, 0.3, 0.2])


def node(value: float = 0.0) -> Node:
    return Node.new(value, (), [("a",), ("b",), ("c",)], PRIORS)


def test_scores_by_hand() -> None:
    """Q: the means 0.5, -0.5 and the node's 0 are put between 0 and 1; C = log(19657 / 19652) + 1.25.

    Of the priors 0.2 is unvisited: that child is worth 0.2 of what the node is, 0.5.
    """
    tree = node()
    tree.visits[:] = 2, 1, 0
    tree.totals[:] = 1.0, -0.5, 0.0
    c = 1.2502544
    expected = [1 + c * 0.5 * 2 / 3, c * 0.3 * 2 / 2, 0.1 + c * 0.2 * 2]
    assert puct(tree, 1.25).tolist() == pytest.approx(expected, rel=1e-6)


def test_virtual_losses_by_hand() -> None:
    """One visit of the first child that is under way: Q = (2 * 1 + 1 * 0) / 3, N(s) = 5."""
    tree = node()
    tree.visits[:] = 2, 1, 0
    tree.totals[:] = 1.0, -0.5, 0.0
    tree.pending[0] = 1
    c = math.log(19658 / 19652) + 1.25
    root = math.sqrt(5)
    expected = [2 / 3 + c * 0.5 * root / 4, c * 0.3 * root / 2, 0.1 + c * 0.2 * root]
    assert puct(tree, 1.25).tolist() == pytest.approx(expected, rel=1e-9)


def test_unvisited_children_follow_the_priors_and_the_dead_are_left_out() -> None:
    tree = node()
    tree.alive[0] = False
    scores = puct(tree, 1.25)
    assert scores[0] == -math.inf
    assert scores[1:] == pytest.approx((math.log(19654 / 19652) + 1.25) * PRIORS[1:])


def test_an_impossible_child_is_dead() -> None:
    tree = Node.new(0.0, (), [("a",), ("b",)], np.array([1.0, 0.0]))
    assert tree.alive.tolist() == [True, False]


def test_values_are_backed_up_along_the_way_and_nowhere_else() -> None:
    root, child = node(), node()
    path: list[Step] = [(root, 1), (child, 2)]
    back_up(path, 0.5)
    back_up(path[:1], -0.1)
    assert root.visits.tolist() == [0, 2, 0]
    assert root.totals.tolist() == pytest.approx([0, 0.4, 0])
    assert child.visits.tolist() == [0, 0, 1]
    assert child.totals.tolist() == [0, 0, 0.5]


def told(*costs: float, prediction: Prediction | None = None, initial: int = 1) -> list[Batch]:
    """Run a search whose evaluations cost so much, one after the other, and return what it asked for."""
    space = SearchSpace(
        ("a", "b", "c"),
        (),
        (),
        tuple(Evaluation(("s",) * i, 8.0) for i in range(initial)),
        4,
        policy=Perfect(actions=("a", "b", "c")),
    )
    search = mcts(space, np.random.default_rng(0), batch=2, rollout=0)
    batches = [next(search)]
    left = list(costs)
    try:
        while len(left) >= len(batches[-1].traces):
            found = [Evaluation(trace, left.pop(0), prediction=prediction) for trace in batches[-1].traces]
            batches.append(search.send(found))
    except StopIteration:
        pass
    return batches


def sure(*shares: float, value: float = 0.0) -> Prediction:
    with np.errstate(divide="ignore"):
        return Prediction(np.log(np.array(shares)), value)


def test_a_sure_policy_is_followed_one_trace_at_a_time() -> None:
    batches = told(8.0, 7.0, 6.0, 5.0, prediction=sure(0.0, 1.0, 0.0))
    assert [batch.traces for batch in batches] == [[()], [("b",)], [("b",) * 2], [("b",) * 3], [("b",) * 4]]
    assert all(Ask.PREDICTION in batch.ask for batch in batches)


def test_an_unsure_policy_has_several_traces_evaluated_together() -> None:
    batches = told(8.0, prediction=sure(0.4, 0.35, 0.25))
    assert [batch.traces for batch in batches] == [[()], [("a",), ("b",)]]


def test_what_was_worth_more_is_gone_on_from() -> None:
    batches = told(8.0, 8.0, 4.0, prediction=sure(0.4, 0.35, 0.25))
    assert batches[2].traces[0] == ("b", "a")


def test_what_changes_nothing_and_what_crashes_is_not_tried_again() -> None:
    space = SearchSpace(("a", "b"), (), (), (Evaluation((), 8.0),), 9)
    search = mcts(space, np.random.default_rng(0), batch=1, rollout=0)
    assert next(search).traces == [()]
    first = search.send([Evaluation((), 8.0)]).traces[0]
    second = search.send([Evaluation((), 8.0)]).traces[0]
    assert {first, second} == {("a",), ("b",)}
    with pytest.raises(StopIteration):
        search.send([Evaluation(second, math.inf, error="it died")])


def test_traces_end_at_the_longest() -> None:
    batches = told(*[7.0] * 200, prediction=sure(0.6, 0.3, 0.1))
    traces = [trace for batch in batches for trace in batch.traces]
    assert len(traces) == len(set(traces)) == 1 + 3 + 9 + 27 + 81  # and then it ends


def test_a_leaf_is_worth_what_its_roll_out_finds() -> None:
    """The first action makes it worse, what follows makes it much better: it is gone on from there."""
    space = SearchSpace(("a", "b"), (), (), (Evaluation((), 8.0),), 9)
    search = mcts(space, np.random.default_rng(0), batch=1, rollout=2, exploration=0.1)
    assert Ask.PREDICTION in next(search).ask
    assert Ask.PREDICTION not in search.send([Evaluation((), 8.0)]).ask
    (leaf,) = search.send([Evaluation((), 8.0)]).traces
    (further,) = search.send([Evaluation(leaf, 9.0)]).traces
    assert further[:1] == leaf
    assert 1 < len(further) <= 3
    (following,) = search.send([Evaluation(further, 2.0)]).traces
    assert following[:1] == leaf
    assert len(following) == 2
