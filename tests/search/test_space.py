"""What searches vary traces with."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from burnish.search.space import Evaluation, SearchSpace

ACTIONS = ("a", "b", "c")
SPACE = SearchSpace(ACTIONS, (), (), (Evaluation((), 9.0), Evaluation(("a",), 5.0)), max_length=10)
TRACES = st.lists(st.sampled_from([*ACTIONS, "site: a"]), max_size=10).map(tuple)
SEEDS = st.integers(0, 2**32)


@given(TRACES, SEEDS)
def test_mutation_stays_in_the_space(trace: tuple[str, ...], seed: int) -> None:
    mutant = SPACE.mutate(trace, np.random.default_rng(seed))
    assert len(mutant) <= SPACE.max_length
    assert set(mutant) <= set(trace) | set(ACTIONS)


@given(TRACES, SEEDS)
def test_mutation_touches_at_most_three_entries(trace: tuple[str, ...], seed: int) -> None:
    mutant = SPACE.mutate(trace, np.random.default_rng(seed))
    before, after = Counter(trace), Counter(mutant)
    assert (after - before).total() <= 3
    assert (before - after).total() <= 3


@given(TRACES, SEEDS)
def test_mutation_depends_on_the_seed_alone(trace: tuple[str, ...], seed: int) -> None:
    assert SPACE.mutate(trace, np.random.default_rng(seed)) == SPACE.mutate(
        trace, np.random.default_rng(seed)
    )


def test_mutation_reaches_every_kind_of_neighbour() -> None:
    rng = np.random.default_rng(0)
    trace = ("a", "b", "site: a")
    mutants = {SPACE.mutate(trace, rng) for _ in range(500)}
    assert {len(mutant) for mutant in mutants} >= {1, 2, 3, 4, 5, 6}
    assert ("b", "a", "site: a") in mutants


@given(SEEDS, st.integers(1, 10))
def test_random_trace_is_as_long_as_asked(seed: int, longest: int) -> None:
    trace = SPACE.random_trace(np.random.default_rng(seed), longest)
    assert 1 <= len(trace) <= longest
    assert set(trace) <= set(ACTIONS)


def test_every_length_is_drawn() -> None:
    rng = np.random.default_rng(0)
    assert {len(SPACE.random_trace(rng)) for _ in range(400)} == set(range(1, 11))


def test_best_start_is_the_cheapest_then_the_shortest() -> None:
    assert SPACE.best_initial.trace == ("a",)
    order = sorted(
        [Evaluation(("b",), 1.0), Evaluation(("a", "a"), 1.0), Evaluation(("a",), 1.0), Evaluation((), 2.0)],
        key=lambda evaluation: evaluation.order,
    )
    assert [evaluation.trace for evaluation in order] == [("a",), ("b",), ("a", "a"), ()]
