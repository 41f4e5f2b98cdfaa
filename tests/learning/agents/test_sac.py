"""Soft actor-critic for discrete actions: its losses, masks, and what it learns."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from burnish.core.errors import InputError
from burnish.learning.agents.policy import masked_log_softmax
from burnish.learning.agents.replay import TransitionBatch
from burnish.learning.agents.sac import (
    SAC,
    SACConfig,
    actor_loss,
    critic_loss,
    sac_targets,
    soft_values,
    temperature_loss,
)
from tests.core.counting_task import OPTIMUM, counters
from tests.learning.agents.problems import (
    assert_goes_on_alike,
    counting_envs,
    counting_policy,
    learned_cost,
    llvm_envs,
    llvm_optimum,
    llvm_policy,
)

MASKS = torch.tensor([[True, True, False], [True, False, False]])
LOG_PROBS = masked_log_softmax(torch.tensor([[0.0, math.log(3), 50.0], [7.0, 50.0, 50.0]]), MASKS)
"""Probabilities 1/4, 3/4 and 0; and 1, 0 and 0."""
FIRST = torch.tensor([[8.0, 4.0, 1e6], [5.0, 1e6, 1e6]])
SECOND = torch.tensor([[4.0, 8.0, -1e6], [6.0, -1e6, -1e6]])
TEMPERATURE = torch.tensor(0.5)
ENTROPY = math.log(4) - 0.75 * math.log(3)  # of 1/4 and 3/4


def test_soft_values_are_exact_expectations_over_what_is_legal() -> None:
    found = soft_values(LOG_PROBS, FIRST, MASKS, TEMPERATURE)
    assert found.tolist() == pytest.approx([0.25 * 8 + 0.75 * 4 + 0.5 * ENTROPY, 5.0])


def test_targets_take_the_smaller_critic_of_each_action() -> None:
    """The smaller ones are 4 and 4 in the first state, 5 in the second."""
    rewards, discounts = torch.tensor([1.0, 2.0]), torch.tensor([0.9, 0.5])
    found = sac_targets(rewards, discounts, LOG_PROBS, (FIRST, SECOND), MASKS, TEMPERATURE)
    assert found.tolist() == pytest.approx([1 + 0.9 * (4 + 0.5 * ENTROPY), 2 + 0.5 * 5])


def test_after_the_end_there_is_only_the_reward() -> None:
    nothing = torch.zeros_like(MASKS)
    log_probs = masked_log_softmax(torch.zeros(2, 3), nothing)
    found = sac_targets(
        torch.tensor([1.0, 2.0]), torch.zeros(2), log_probs, (FIRST, SECOND), nothing, TEMPERATURE
    )
    assert found.tolist() == [1, 2]


def test_critic_loss() -> None:
    """Errors 8 - 5 and 1e6 - (1e6 - 4)."""
    assert critic_loss(FIRST, torch.tensor([0, 1]), torch.tensor([5.0, 1e6 - 4])).item() == (9 + 16) / 2


def test_actor_loss() -> None:
    found = actor_loss(LOG_PROBS, (FIRST, SECOND), MASKS, TEMPERATURE)
    assert found.item() == pytest.approx(-((4 + 0.5 * ENTROPY) + 5) / 2)


def test_the_best_policy_is_the_softmax_of_values_over_the_temperature() -> None:
    """Where p is exp(Q / temperature) over its sum, the actor's gradient is 0; what is illegal has none."""
    values = torch.tensor([[0.3, 1.2, 9.0, -0.4]])
    masks = torch.tensor([[True, True, False, True]])
    for scale, vanishes in ((1.0, True), (1.3, False)):
        logits = (scale * values / TEMPERATURE).requires_grad_()
        actor_loss(masked_log_softmax(logits, masks), (values, values), masks, TEMPERATURE).backward()
        assert logits.grad is not None and logits.grad.isfinite().all()
        assert (logits.grad.abs().max().item() < 1e-6) == vanishes
        assert logits.grad[0, 2] == 0


def test_temperature_loss() -> None:
    """Wanted are 0.5 log 2 and 0.5 log 1; the gradient of log(temperature) is the mean excess."""
    log_temperature = torch.tensor(-2.0, requires_grad=True)
    loss = temperature_loss(log_temperature, torch.tensor([0.6, 0.1]), MASKS, 0.5)
    excess = (0.6 - 0.5 * math.log(2) + 0.1) / 2
    assert loss.item() == pytest.approx(-2 * excess)
    loss.backward()
    assert log_temperature.grad is not None and log_temperature.grad.item() == pytest.approx(excess)


def some_batch(count: int = 32) -> TransitionBatch:
    rng = np.random.default_rng(0)
    masks = torch.tensor(rng.random((2, count, 4)) < 0.5)
    masks[:, :, 1] = True
    return TransitionBatch(
        list(rng.integers(0, 50, size=(count, 4))),
        masks[0],
        torch.tensor([int(rng.choice(np.flatnonzero(mask))) for mask in masks[0].numpy()]),
        torch.tensor(rng.normal(size=count), dtype=torch.float32),
        list(rng.integers(0, 50, size=(count, 4))),
        masks[1],
        torch.tensor(rng.choice([0, 0.9], size=count), dtype=torch.float32),
    )


def test_an_update_is_what_the_losses_say() -> None:
    """Critics first, by targets as they were; then the policy by the new critics; then the temperature."""
    config = SACConfig(policy_learning_rate=0.01, critic_learning_rate=0.02, reward_scale=3.0, tau=0.1)
    agent, batch = SAC(counting_envs(1), counting_policy, config, seed=0), some_batch()
    policy = copy.deepcopy(agent.policy)
    critics, targets = copy.deepcopy(agent.critics), copy.deepcopy(agent.targets)
    for _ in range(3):
        log_temperature = agent.log_temperature.detach().clone()
        before = copy.deepcopy(agent.critics), copy.deepcopy(agent.targets)
        measured = agent.update(batch)
        assert float(measured["temperature"]) == pytest.approx(log_temperature.exp().item())
        for target, old, new in zip(agent.targets, before[1], agent.critics, strict=True):
            for slow, was, fast in zip(*(m.parameters() for m in (target, old, new)), strict=True):
                torch.testing.assert_close(slow, 0.9 * was + 0.1 * fast)
    temperature = torch.tensor(0.1)
    seen, following = policy.collate(batch.observations), policy.collate(batch.next_observations)
    optimizers = (
        torch.optim.Adam(critics.parameters(), lr=0.02),
        torch.optim.Adam(policy.parameters(), lr=0.01),
    )
    log_temperature = temperature.log().requires_grad_()
    third = torch.optim.Adam([log_temperature], lr=1e-3)
    for _ in range(3):
        temperature = log_temperature.exp().detach()
        after = policy.log_probs(following, batch.next_masks).detach()
        smaller = torch.min(targets[0](following), targets[1](following)).detach()
        value = torch.where(batch.next_masks, after.exp() * (smaller - temperature * after), 0).sum(1)
        goal = 3 * batch.rewards + batch.discounts * value
        rows = torch.arange(32)
        losses = [((critic(seen)[rows, batch.actions] - goal) ** 2).mean() for critic in critics]
        loss = torch.stack(losses).sum()
        optimizers[0].zero_grad()
        loss.backward()
        for critic in critics:
            torch.nn.utils.clip_grad_norm_(critic.parameters(), 10)
        optimizers[0].step()
        now = policy.log_probs(seen, batch.masks)
        smaller = torch.min(critics[0](seen), critics[1](seen)).detach()
        loss = torch.where(batch.masks, now.exp() * (temperature * now - smaller), 0).sum(1).mean()
        optimizers[1].zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 10)
        optimizers[1].step()
        with torch.no_grad():
            entropies = -torch.where(batch.masks, now.exp() * now, 0).sum(1)
            excess = (entropies - config.target_entropy * batch.masks.sum(1).log()).mean()
            for slow, fast in zip(targets.parameters(), critics.parameters(), strict=True):
                slow.mul_(0.9).add_(0.1 * fast)
        third.zero_grad()
        log_temperature.grad = excess.clone()
        third.step()
    for ours, theirs in ((agent.policy, policy), (agent.critics, critics), (agent.targets, targets)):
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
    assert agent.log_temperature.item() == pytest.approx(log_temperature.item(), rel=1e-5)


@pytest.mark.slow
def test_the_temperature_brings_the_entropy_to_its_target() -> None:
    config = SACConfig(
        steps=14,
        learning_starts=50,
        batch=32,
        temperature_learning_rate=0.05,
        policy_learning_rate=1e-3,
        critic_learning_rate=1e-3,
        target_entropy=0.5,
        reward_scale=1.0,
        discount=0.99,
        initial_temperature=1.0,
        updates_per_step=0.7,
    )
    agent = SAC(counting_envs(2, programs=counters("a=999")), counting_policy, config, seed=0)
    measured = [agent.iterate() for _ in range(30)]
    wanted = 0.5 * (math.log(3) + math.log(4)) / 2  # halve is legal in every other state or so
    assert measured[3]["entropy"] > 1.3 * wanted
    assert np.mean([m["entropy"] for m in measured[-10:]]) == pytest.approx(wanted, rel=0.15)


COUNTING = SACConfig(
    steps=28,
    learning_starts=200,
    batch=64,
    policy_learning_rate=2e-3,
    critic_learning_rate=3e-3,
    temperature_learning_rate=3e-3,
    discount=1.0,
    reward_scale=1.0,
    bootstrap=False,
    tau=0.02,
)


def test_sac_finds_the_optimum_of_counting() -> None:
    agent = SAC(counting_envs(), counting_policy, COUNTING, seed=0)
    assert learned_cost(agent, 16) == OPTIMUM
    assert agent.updates == int((agent.steps - 200) * 0.25)


@pytest.mark.slow
def test_sac_finds_the_best_sequence_of_passes() -> None:
    config = SACConfig(**(vars(COUNTING) | {"steps": 24, "target_entropy": 0.15}))
    assert learned_cost(SAC(llvm_envs(), llvm_policy, config, seed=0), 30) == llvm_optimum()


def test_sac_goes_on_from_its_state_to_the_same_metrics() -> None:
    config = SACConfig(steps=14, batch=16, learning_starts=20, capacity=150)
    envs = counting_envs(3, programs=[counters("a=64"), counters("a=9 b=2"), counters("a=7")])
    assert_goes_on_alike(lambda: SAC(envs, counting_policy, config, seed=3), 4, 3)


def test_a_state_of_another_algorithm_is_refused() -> None:
    agent = SAC(counting_envs(1), counting_policy, seed=0)
    with pytest.raises(InputError, match="the state of sac, not of 'ppo'"):
        agent.load_state_dict({"algorithm": "ppo"})
