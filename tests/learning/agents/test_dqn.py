"""Deep Q-learning: its targets, its updates, and what it learns."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from torch import Tensor

from burnish.core.errors import InputError
from burnish.envs.env import Env
from burnish.learning.agents.dqn import DQN, DQNConfig, dqn_loss, dqn_targets, epsilon
from burnish.learning.agents.learner import move_towards
from burnish.learning.agents.replay import TransitionBatch
from tests.core.counting_task import OPTIMUM, TASK, counters
from tests.learning.agents.problems import (
    assert_goes_on_alike,
    counting_envs,
    counting_policy,
    learned_cost,
    llvm_envs,
    llvm_optimum,
    llvm_policy,
)

ALL = torch.ones(2, 3, dtype=torch.bool)
VALUES = torch.tensor([[1.0, 5.0, 2.0], [4.0, 3.0, 8.0]])
CHOOSING = torch.tensor([[9.0, 1.0, 3.0], [0.0, 7.0, 5.0]])
REWARDS, DISCOUNTS = torch.tensor([10.0, 20.0]), torch.tensor([0.5, 0.25])


def test_targets_of_the_best_action() -> None:
    assert dqn_targets(REWARDS, DISCOUNTS, VALUES, ALL).tolist() == [10 + 0.5 * 5, 20 + 0.25 * 8]


def test_double_targets_are_the_targets_value_of_what_the_network_chooses() -> None:
    found = dqn_targets(REWARDS, DISCOUNTS, VALUES, ALL, CHOOSING)
    assert found.tolist() == [10 + 0.5 * 1, 20 + 0.25 * 3]


def test_what_is_illegal_is_not_chosen() -> None:
    masks = torch.tensor([[False, False, True], [True, False, False]])
    assert dqn_targets(REWARDS, DISCOUNTS, VALUES, masks).tolist() == [10 + 0.5 * 2, 20 + 0.25 * 4]
    assert dqn_targets(REWARDS, DISCOUNTS, VALUES, masks, CHOOSING).tolist() == [11, 21]


def test_after_the_end_there_is_no_value() -> None:
    found = dqn_targets(REWARDS, torch.zeros(2), VALUES, ~ALL, CHOOSING)
    assert found.tolist() == [10, 20]


def test_loss_is_hubers() -> None:
    """Errors 0.5 and 4: (0.5 * 0.25 + 4 - 0.5) / 2."""
    found = dqn_loss(VALUES, torch.tensor([0, 1]), torch.tensor([1.5, -1.0]))
    assert found.item() == (0.125 + 3.5) / 2


def test_exploration_falls_linearly() -> None:
    config = DQNConfig(epsilon_start=0.9, epsilon_steps=100, epsilon_end=0.1)
    assert [epsilon(config, steps) for steps in (0, 50, 100, 1000)] == pytest.approx([0.9, 0.5, 0.1, 0.1])


def test_a_target_moves_towards_the_network() -> None:
    slow, fast = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    for layer, value in ((slow, 1.0), (fast, 3.0)):
        torch.nn.init.constant_(layer.weight, value)
    move_towards(slow, fast, 0.25)
    assert slow.weight.item() == 1.5
    move_towards(slow, fast, 1.0)
    assert slow.weight.item() == 3.0


class TheirNetwork(torch.nn.Module):
    """Their Q-network behind our interface."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.encoder = SimpleNamespace(device=torch.device("cpu"))

    def collate(self, observations: Any) -> Tensor:
        return torch.as_tensor(np.stack(observations))

    def forward(self, batch: Tensor) -> Tensor:
        values: Tensor = self.network(batch)
        return values


def test_updates_agree_with_stable_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same transitions and weights: parameters and targets are the same after five updates."""
    theirs = stable_baselines3.DQN(
        "MlpPolicy",
        Env(TASK, counters("a=64"), observation="shares", limits=None),
        learning_rate=1e-2,
        max_grad_norm=0.1,
        tau=0.3,
        gamma=0.9,
        target_update_interval=2,
        seed=0,
        device="cpu",
    )
    theirs.set_logger(Logger(None, []))
    config = DQNConfig(double=False, learning_rate=1e-2, max_gradient_norm=0.1, tau=0.3, target_interval=2)
    ours = DQN(counting_envs(1), counting_policy, config, seed=0)
    with torch.no_grad():
        for parameter in theirs.q_net_target.parameters():  # so that it differs from the network's
            parameter.add_(0.1)
    ours.q = TheirNetwork(copy.deepcopy(theirs.q_net))  # type: ignore[assignment]
    ours.target = TheirNetwork(copy.deepcopy(theirs.q_net_target))  # type: ignore[assignment]
    ours.optimizer = torch.optim.Adam(ours.q.parameters(), lr=config.learning_rate)
    rng = np.random.default_rng(0)
    for _ in range(5):
        seen, following = rng.random((2, 32, 4), dtype=np.float32)
        actions, rewards = rng.integers(4, size=32), rng.normal(size=32).astype(np.float32) * 5
        ended = (rng.random(32) < 0.3).astype(np.float32)
        columns = [
            torch.tensor(c) for c in (seen, actions[:, None], following, ended[:, None], rewards[:, None])
        ]
        sample = ReplayBufferSamples(*columns)
        monkeypatch.setattr(theirs.replay_buffer, "sample", lambda *_, sample=sample, **__: sample)
        theirs.train(1, 32)
        theirs._on_step()
        legal = torch.ones(32, 4, dtype=torch.bool)
        batch = TransitionBatch(
            list(seen),
            legal,
            torch.tensor(actions),
            torch.tensor(rewards),
            list(following),
            legal,
            torch.tensor(0.9 * (1 - ended)),
        )
        measured = ours.update(batch)
        assert float(measured["loss/q"]) == pytest.approx(theirs.logger.name_to_value["train/loss"], rel=1e-5)
    for pair in ((ours.q, theirs.q_net), (ours.target, theirs.q_net_target)):
        for one, other in zip(*(network.parameters() for network in pair), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


COUNTING = DQNConfig(
    steps=28,
    updates_per_step=0.5,
    batch=64,
    learning_starts=100,
    learning_rate=3e-3,
    discount=1.0,
    bootstrap=False,
    target_interval=50,
    epsilon_steps=1500,
)


def test_dqn_finds_the_optimum_of_counting() -> None:
    agent = DQN(counting_envs(), counting_policy, COUNTING, seed=0)
    assert learned_cost(agent, 16) == OPTIMUM
    assert agent.updates == int((agent.steps - 100) * 0.5)


def test_its_policy_is_the_greedy_one_of_its_values() -> None:
    agent = DQN(counting_envs(2), lambda: counting_policy(head="factorised"), COUNTING, seed=0)
    agent.iterate()
    seen = [np.array([i, i // 2, 0, 0]) for i in range(1, 40)]
    masks = np.random.default_rng(0).random((39, 4)) < 0.5
    masks[:, 3] = True
    assert agent.policy.act(seen, masks).tolist() == agent.q.act(seen, masks).tolist()


@pytest.mark.slow
def test_dqn_finds_the_best_sequence_of_passes() -> None:
    config = DQNConfig(
        steps=24,
        updates_per_step=0.5,
        batch=64,
        learning_starts=200,
        learning_rate=1e-3,
        discount=1.0,
        bootstrap=False,
        target_interval=50,
        epsilon_steps=2000,
    )
    assert learned_cost(DQN(llvm_envs(), llvm_policy, config, seed=0), 36) == llvm_optimum()


def test_dqn_goes_on_from_its_state_to_the_same_metrics() -> None:
    config = DQNConfig(
        steps=14, batch=16, learning_starts=20, capacity=150, target_interval=7, epsilon_steps=500
    )
    envs = counting_envs(3, programs=[counters("a=64"), counters("a=9 b=2"), counters("a=7")])
    assert_goes_on_alike(lambda: DQN(envs, counting_policy, config, seed=3), 4, 3)


def test_a_state_of_another_algorithm_is_refused() -> None:
    agent = DQN(counting_envs(1), counting_policy, seed=0)
    with pytest.raises(InputError, match="the state of dqn, not of 'ppo'"):
        agent.load_state_dict({"algorithm": "ppo"})
