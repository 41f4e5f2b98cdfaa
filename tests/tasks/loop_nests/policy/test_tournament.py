"""The comparison model of schedules, and the tournaments that ask it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.search import SEARCHES, Budget
from burnish.search.problem import Problem
from burnish.search.run import run
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.api.schedule import follow
from burnish.tasks.loop_nests.features import COLUMNS
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy.tournament import (
    KIND,
    LAST,
    Candidate,
    load_for,
    propose,
    propose_for,
    rank,
)
from burnish.tasks.loop_nests.sketches import Sketch
from burnish.tasks.loop_nests.tree import naive
from burnish.tasks.tensors.policy.comparison_model import ComparisonModel, load_comparison_model
from burnish.tasks.tensors.policy.cost_model import SchedulePolicy
from tests.tasks.loop_nests.nests import features

NEST = parse("f32 m=24 n=32 k=16\nc[m,n] += a[m,k] * b[k,n]")
WIDTH = len(COLUMNS)
ZERO, ONE = np.zeros(WIDTH, dtype=np.float32), np.ones(WIDTH, dtype=np.float32)


def model_of(*names: str) -> ComparisonModel:
    """Return a model whose embedding is the sum of some features; the smaller one is taken to be faster."""
    column = np.zeros((1, WIDTH, 1), dtype=np.float32)
    column[0, [COLUMNS.index(name) for name in names]] = 1
    judge = np.array([[[-1], [1]]], dtype=np.float32)  # g(a, b) = b - a
    bias = np.zeros((1, 1, 1), dtype=np.float32)
    layers = ((column, bias),), ((judge, bias),)
    return ComparisonModel(TASK.id, "seconds", COLUMNS, 32, ZERO, ONE, *layers, COLUMNS, KIND)


FEW_LOADS = model_of("vector loads of an operation", "other loads of an operation")


def test_margins_are_the_difference_of_both_orders() -> None:
    """Statements add up to 1 + 2, 2 and 0; g(a, b) - g(b, a) = 2 (b - a)."""
    rows = np.zeros((4, WIDTH), dtype=np.float32)
    rows[:, COLUMNS.index("registers")] = 1, 2, 2, 0
    found = model_of("registers").margins([rows[:2], rows[2:3], rows[3:]])
    assert found.tolist() == [[0, -2, -6], [2, 0, -4], [6, 4, 0]]


def test_odds_change_their_sign_with_the_order() -> None:
    rng = np.random.default_rng(0)

    def layer(before: int, after: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.normal(size=(3, before, after)).astype("f4"), rng.normal(size=(3, 1, after)).astype("f4")

    judge = layer(8, 5), layer(5, 1)
    model = replace(FEW_LOADS, embedding=(layer(WIDTH, 7), layer(7, 4)), judge=judge)
    trees = [rng.normal(size=(1 + i % 3, WIDTH)).astype("f4") for i in range(6)]
    margins = model.margins(trees)
    np.testing.assert_allclose(margins, -margins.T, rtol=1e-4, atol=1e-4)
    embedded = model.embed(trees)
    assert model.faster(embedded[:, 1], embedded[:, 4]) == pytest.approx(margins[1, 4], rel=1e-4)


def test_model_is_kept_in_a_file(tmp_path: Path) -> None:
    path, rows = tmp_path / "model.npz", [features(naive(NEST), 32), np.ones((1, WIDTH), dtype=np.float32)]
    FEW_LOADS.save(path)
    found = load_comparison_model(path, COLUMNS, KIND)
    np.testing.assert_array_equal(found.margins(rows), FEW_LOADS.margins(rows))
    policy = load_for(path, TASK)
    assert isinstance(policy, SchedulePolicy) and policy.objective == "seconds"
    replace(FEW_LOADS, columns=("hue", *COLUMNS[1:])).save(path)
    with pytest.raises(InputError, match="the model takes 'hue', which is no longer a feature"):
        load_comparison_model(path, COLUMNS, KIND)
    replace(FEW_LOADS, task="loop_nests-v7").save(path)
    with pytest.raises(InputError, match="loop_nests-v7"):
        load_for(path, TASK)
    replace(FEW_LOADS, kind="schedule-costs").save(path)
    with pytest.raises(InputError, match="it is of kind schedule-costs"):
        load_comparison_model(path, COLUMNS, KIND)
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match="not a comparison model"):
        load_comparison_model(path, COLUMNS, KIND)


@pytest.mark.parametrize("count", [0, 1, LAST, LAST + 1, 101])
def test_the_best_wins_the_tournament(count: int) -> None:
    numbers = np.random.default_rng(0).permutation(count)
    entered = [Candidate(Sketch((), ()), np.full((1, 1), number, dtype=np.float32)) for number in numbers]
    found = [float(one.embedded[0, 0]) for one in rank(FEW_LOADS, entered, np.random.default_rng(1))]
    assert found == sorted(found)
    assert len(found) == min(count, LAST) or LAST // 2 <= len(found) < LAST < count
    assert not count or found[0] == 0


def test_first_proposal_is_what_the_model_likes() -> None:
    """A tile of registers: few loads for each product. The naive nest loads two numbers for each."""
    trees = follow(NEST, next(propose(NEST, FEW_LOADS, 32))), naive(NEST)
    assert FEW_LOADS.margins([features(tree, 32) for tree in trees])[0, 1] > 3


def test_proposals_differ_and_end_where_there_are_no_others() -> None:
    proposals = propose(parse("f32 m=2 n=2\nc[m,n] = a[m,n] * 2"), FEW_LOADS, 32)
    traces = [next(proposals)]
    with pytest.raises(StopIteration):
        while len(traces) < 1000:
            traces.append(proposals.send(1e-3))
    assert len(set(traces)) == len(traces) < 1000


def test_same_nest_gets_the_same_proposals_all_of_other_loops() -> None:
    def some(costs: list[float]) -> list[tuple[str, ...]]:
        proposals = propose(NEST, FEW_LOADS, 32)
        return [next(proposals), *[proposals.send(cost) for cost in costs]]

    costs = [1e-6, 2e-6, math.inf, 1e-6, *[3e-6] * 30]
    traces = some(costs)
    assert traces == some(costs)
    assert len({str(follow(NEST, trace)) for trace in traces}) == len(traces)


def test_variations_are_those_of_the_fastest() -> None:
    """The model takes all to be equal. Where what is measured counts loops, proposals have fewer of them."""

    def loops(sign: int) -> float:
        proposals, counts = propose(NEST, model_of(), 32), []
        trace = next(proposals)
        for _ in range(60):
            counts.append(len(follow(NEST, trace).places))
            trace = proposals.send(2.0 ** (sign * counts[-1]))
        return float(np.mean(counts[30:]))

    assert loops(1) < loops(-1) - 0.5


def test_search_follows_it() -> None:
    problem = Problem(TASK, NEST.program("nest"), "seconds")
    result = run(
        SEARCHES["mixed"],
        problem,
        Budget(evaluations=6),
        guide_for=SchedulePolicy(FEW_LOADS, propose_for),
    )
    assert result.evaluations == 6 and result.trace
