"""A policy that observes LLVM's heuristic answers the same from LLVM's features alone, at -Oz."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.llvm.corpora.random_modules import random_module
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron
from burnish.policies.batches import Features
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.observations import (
    COST,
    ESTIMATE,
    FEATURES,
    INLINING_FEATURES,
    ROW,
    THRESHOLD,
    WEIGHED,
    WOULD,
)
from burnish.tasks.llvm_inlining.policy.decisions import observations_of
from burnish.tasks.llvm_inlining.policy.features_alone import BOTH, OZ_THRESHOLD, on_features_alone
from burnish.tasks.llvm_inlining.session import open_inlining
from tests.sources import FILES, program
from tests.tasks.llvm_inlining.policies import random_rows


def sees_both(seed: int, *, log1p: bool) -> ArraysPolicy:
    rng = np.random.default_rng(seed)
    widths = (len(FEATURES) + 5, 24, 12, 2)
    layers = [
        Linear(
            rng.normal(0, (2 / inputs) ** 0.5, (inputs, outputs)).astype(np.float32),
            rng.normal(0, 0.1, outputs).astype(np.float32),
        )
        for inputs, outputs in pairwise(widths)
    ]
    scale = (1.0, 3.0) if log1p else (50.0, 90.0)
    mean = rng.normal(*scale, widths[0]).astype(np.float32)
    deviation = rng.uniform(*scale, widths[0]).astype(np.float32)
    encoder = Perceptron(log1p, mean, deviation, tuple(layers[:-1]))
    return ArraysPolicy(ACTIONS, Features(BOTH), encoder, layers[-1], card={"observation": list(BOTH)})


def questions() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return rows with the heuristic's columns as they are computed, on both sides of the threshold."""
    rows = np.zeros((2000, len(ROW)), dtype=np.int64)
    rows[:, : len(FEATURES)] = random_rows(2000)
    rows[:1000, ESTIMATE] = np.random.default_rng(0).integers(-30, 30, 1000)
    rows[:, WOULD] = rows[:, ESTIMATE] < OZ_THRESHOLD
    rows[:, WEIGHED], rows[:, THRESHOLD] = 1, OZ_THRESHOLD
    rows[:, COST] = np.minimum(rows[:, ESTIMATE], OZ_THRESHOLD)
    return rows


@pytest.mark.parametrize("log1p", [True, False])
def test_the_logits_are_those_of_the_policy_that_sees_the_heuristic(log1p: bool) -> None:
    rows, masks = questions(), np.ones((2000, 2), dtype=bool)
    for seed in range(3):
        policy = sees_both(seed, log1p=log1p)
        alone = on_features_alone(policy)
        expected = policy.log_probs(observations_of(rows, BOTH), masks)
        found = alone.log_probs(observations_of(rows, INLINING_FEATURES), masks)
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)
        assert on_features_alone(alone) is alone
        inlines = expected.argmax(axis=1)
        assert 0 < inlines.sum() < len(rows)


def test_the_heuristics_answer_is_a_function_of_the_features_at_oz() -> None:
    sources = [program(name) for name in FILES] + [random_module(seed) for seed in range(10)]
    tables = [np.asarray(open_inlining(one).observe("questions")) for one in sources]
    rows = np.concatenate([table.reshape(-1, len(ROW) + 1) for table in tables])
    inlines = rows[:, WOULD] == 1
    assert 20 < inlines.sum() < len(rows) - 20
    np.testing.assert_array_equal(rows[:, ESTIMATE] < OZ_THRESHOLD, inlines)
    assert (rows[~inlines, COST] <= rows[~inlines, ESTIMATE]).all()  # a lower bound


def test_what_cannot_be_computed_is_refused() -> None:
    policy = sees_both(0, log1p=True)
    others = {**policy.card, "observation": ["inlining-features", "opcode-counts"]}
    with pytest.raises(
        InputError, match=r"observes \['inlining-features', 'opcode-counts'\]; expected LLVM's features"
    ):
        on_features_alone(replace(policy, card=others))
    with pytest.raises(InputError, match="only at -Oz"):
        on_features_alone(replace(policy, card={**policy.card, "reference": "O2"}))
    with pytest.raises(InputError, match="perceptrons of relu"):
        on_features_alone(replace(policy, encoder=replace(policy.encoder, activation="tanh")))
