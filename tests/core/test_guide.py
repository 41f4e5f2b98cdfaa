"""Priors over actions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from burnish.core.guide import Prior
from burnish.learning.portfolio.evolve import UNIFORM, fit_prior

PRIOR = Prior(("a", "b", "c"), np.array([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]))


def test_action_follows_the_one_before() -> None:
    rng = np.random.default_rng(0)
    assert [PRIOR.draw(before, rng) for before in "abc"] == ["b", "c", "a"]
    counts = Counter(PRIOR.draw("", rng) for _ in range(2000))
    assert set(counts) == {"a", "b"}
    assert counts["a"] == pytest.approx(1000, abs=100)


def test_unknown_predecessor_counts_as_the_beginning() -> None:
    rng = np.random.default_rng(1)
    assert {PRIOR.draw("clang<Oz>", rng) for _ in range(50)} == {"a", "b"}


def test_some_of_the_actions() -> None:
    some = PRIOR.among(["c", "b", "new"])
    assert some.probabilities.shape == (4, 3)
    np.testing.assert_allclose(some.probabilities.sum(axis=1), 1)
    # row of the beginning: c 0, b 1/2, a new one the mean 1/3; over their sum
    np.testing.assert_allclose(some.probabilities[0], np.array([0, 1 / 2, 1 / 3]) / (5 / 6))
    np.testing.assert_allclose(some.probabilities[2], np.array([1, 0, 1 / 3]) / (4 / 3))  # after b


def test_fitted_prior_prefers_what_was_worth_it() -> None:
    traces = [(("a", "b", "c"), 0.1), (("a", "b"), 0.1), (("c", "a"), -0.5)] * 10
    prior = fit_prior(("a", "b", "c", "d"), traces)
    rows = prior.probabilities
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert rows[0].argmax() == 0  # traces that gained begin with a
    assert rows[1].argmax() == 1  # after a comes b
    assert rows[2].argmax() == 2
    assert (rows >= UNIFORM / 4).all()
    assert rows[3, 0] < 0.5  # that a follows c was not worth it
