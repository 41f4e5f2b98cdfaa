"""Rewards, advantages and updates against values computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from burnish.learning.agents.policy import Policy
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.tasks.llvm_codegen.policy.allocating import Allocation, Choices, joined
from burnish.tasks.llvm_codegen.train.eviction_learners import (
    EvictionCloningConfig,
    EvictionPPOConfig,
    advantages,
    agreement,
    clone,
    improve,
    log_probabilities,
    rewards,
    slot_scores,
)

FEATURES = 3


def policy(seed: int = 0) -> Policy:
    torch.manual_seed(seed)
    return Policy(MLP(MLPConfig(hidden=(16,)), FEATURES), ("evict",), critic="none")


def choices(counts: list[int], taken: list[int], seed: int = 0) -> Choices:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(sum(counts), FEATURES)).astype(np.float32)
    return Choices(inputs, np.array(counts), np.array(taken))


def test_rewards_are_mlgos() -> None:
    """1 - (cost + 0.01) / (LLVM's + 0.01), within bounds."""
    found = rewards(
        {"half": 5, "same": 3, "worse": 90, "new": 1}, {"half": 10, "same": 3, "worse": 10, "new": 0}, 1
    )
    assert found["half"] == pytest.approx(1 - 5.01 / 10.01)
    assert found["same"] == 0
    assert found["worse"] == -1
    assert found["new"] == -1


def test_advantages_are_over_the_mean_of_a_functions_samples() -> None:
    two, one = choices([2, 2], [0, 1]), choices([3], [2])
    first = Allocation({"f": 5, "g": 10}, ("f", "g"), two)
    second = Allocation({"f": 10, "g": 10}, ("f",), one)
    table, gains, mean = advantages([[first, second]], [{"f": 10, "g": 10}], 1)
    assert table.counts.tolist() == [2, 2, 3]
    reward = 1 - 5.01 / 10.01
    assert gains.tolist() == pytest.approx([reward / 2, 0, -reward / 2])
    assert mean == pytest.approx(reward / 4)


def test_probabilities_are_a_softmax_over_the_slots_of_each_decision() -> None:
    table, actor = choices([2, 4, 1], [1, 0, 0]), policy()
    log_probs, entropy = log_probabilities(actor, table)
    scores = slot_scores(actor, table).detach()
    for part, slot, found, bonus in zip(
        torch.split(scores, [2, 4, 1]), [1, 0, 0], log_probs.tolist(), entropy.tolist(), strict=True
    ):
        expected = torch.log_softmax(part, 0)
        assert found == pytest.approx(expected[slot].item(), abs=1e-6)
        assert bonus == pytest.approx(-(expected.exp() * expected).sum().item(), abs=1e-6)


def test_some_of_the_decisions_keep_their_slots() -> None:
    table = choices([2, 4, 1, 3], [1, 0, 0, 2])
    some = table.of(np.array([3, 1]))
    assert some.counts.tolist() == [3, 4]
    assert some.taken.tolist() == [2, 0]
    np.testing.assert_array_equal(some.inputs, np.concatenate([table.inputs[7:], table.inputs[2:6]]))
    np.testing.assert_array_equal(joined([table, some]).inputs[10:], some.inputs)


def test_cloning_learns_a_rule_that_can_be_learned() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 8, 600)
    inputs = rng.normal(size=(counts.sum(), FEATURES)).astype(np.float32)
    starts = np.cumsum(counts) - counts
    taken = np.array([inputs[s : s + n, 1].argmax() for s, n in zip(starts, counts, strict=True)])
    table, actor = Choices(inputs, counts, taken), policy()
    before = agreement(actor, table)
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-2)
    losses = [
        clone(actor, optimizer, table, EvictionCloningConfig(), rng.permutation(600)) for _ in range(20)
    ]
    assert losses[-1]["loss/clone"] < 0.3 * losses[0]["loss/clone"]
    assert losses[-1]["agreement"] == agreement(actor, table) > max(0.95, before)


def test_what_gained_becomes_likelier_within_the_clip() -> None:
    table, actor = choices([4] * 40, [0] * 40), policy()
    gains = np.where(np.arange(40) < 20, 1, -1).astype(np.float32)
    before = log_probabilities(actor, table)[0].detach()
    config = EvictionPPOConfig(epochs=8, learning_rate=1e-2, entropy_coefficient=0.0, target_kl=10.0)
    found = improve(
        actor, torch.optim.Adam(actor.parameters(), 1e-2), (table, gains), config, np.random.default_rng(0)
    )
    ratio = (log_probabilities(actor, table)[0].detach() - before).exp().numpy()
    assert found["updates"] == 8
    assert math.isfinite(found["kl"])
    assert ratio[:20].mean() > 1 > ratio[20:].mean()
