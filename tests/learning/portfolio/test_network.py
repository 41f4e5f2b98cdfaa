"""Learning a distance under which programs gain by the same sequences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burnish.learning.portfolio.network import (
    SequenceValueLearner,
    SequenceValuesConfig,
    attention,
    value_loss,
)


def test_attention_by_hand() -> None:
    queries, keys = torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [1.0], [3.0]])
    expected = np.exp([[0, -1, -9], [-1, 0, -4]])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(attention(queries, keys), expected, rtol=1e-5)
    hidden = torch.tensor([[True, False, False], [False, True, True]])
    expected = np.array([[0, np.exp(-1), np.exp(-9)], [1, 0, 0]])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(attention(queries, keys, hidden), expected, atol=1e-6)


def test_value_loss_by_hand() -> None:
    weights, gains = torch.tensor([[0.25, 0.75]]), torch.tensor([[0.0, 4.0], [1.0, 0.0]])
    loss = value_loss(weights, gains, torch.tensor([[0.0, 0.0]]))  # predicted: 0.75, 1
    assert float(loss) == pytest.approx((0.75**2 + 1) / 2)


def learner(projects: list[str], seed: int = 0) -> SequenceValueLearner:
    """Return the learner of a table in which the first feature alone says which of two sequences pays."""
    rng = np.random.default_rng(3)
    features = rng.integers(0, 50, size=(60, 6)).astype(np.float32)
    kind = features[:, 0] > 25
    gains = np.where(kind[:, None], [0.3, -0.2], [-0.2, 0.3]).astype(np.float32)
    return SequenceValueLearner(
        features, gains, projects, SequenceValuesConfig(dropout=0.0, learning_rate=0.02), seed=seed
    )


def test_it_learns_which_feature_matters() -> None:
    made = learner([f"p{i % 6}" for i in range(60)])
    losses = [made.iterate()["loss/values"] for _ in range(150)]
    assert losses[-1] < 0.15 * losses[0]


def test_nothing_is_predicted_from_its_own_project() -> None:
    made = learner(["one"] * 59 + ["other"])
    points = made.network.eval()(made.features)
    weights = attention(points, points, made.hidden)
    assert float(weights[0, 59].detach()) == pytest.approx(1)


def test_goes_on_where_it_was() -> None:
    projects = [f"p{i % 6}" for i in range(60)]
    one, two = learner(projects), learner(projects, seed=0)
    for _ in range(5):
        one.iterate()
    two.load_state_dict(one.state_dict())
    assert [one.iterate() for _ in range(3)] == [two.iterate() for _ in range(3)]
