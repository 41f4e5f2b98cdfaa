from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.cloning import (
    Cloning,
    CloningConfig,
    cloning_loss,
    dropout,
    step_weights,
    validation_programs,
)
from burnish.learning.agents.demonstrations import Demonstration, DemonstrationStep
from burnish.learning.agents.policy import Policy, masked_log_softmax
from tests.core.counting_task import OPTIMUM, TASK, counters
from tests.learning.agents.exhaustive import FEATURES, PASSES, cheapest, pass_env
from tests.learning.agents.problems import assert_goes_on_alike, counting_policy, small_policy
from tests.sources import program

FILES = ("strings.c", "hash_table.c", "recursion.c")


def halve_first(value: int) -> Demonstration:
    """Return what an expert does who halves what is even and subtracts 1 of what is not."""
    trace = []
    rest = value
    while rest:
        trace.append("subtract(1)" if rest % 2 else "halve")
        rest = rest - 1 if rest % 2 else rest // 2
    return Demonstration(counters(f"a={value}"), tuple(trace), OPTIMUM, reference=2.0)


def counting_envs() -> VectorEnv:
    return VectorEnv([partial(Env, TASK, counters("a=1"), limits=None)] * 2)


def cloning(
    config: CloningConfig, demonstrations: Sequence[Demonstration], seed: int = 0, **policy: Any
) -> Cloning:
    return Cloning(
        counting_envs(), lambda: counting_policy(**policy), config, seed=seed, demonstrations=demonstrations
    )


def step(program: str = "", gain: float = 1.0, action: int = 0) -> DemonstrationStep:
    return DemonstrationStep(program, np.zeros(4), np.ones(4, dtype=bool), action, 0.0, gain)


def end_of(env: Env, policy: Policy) -> float:
    """Return the cost at the end of an episode of what the policy thinks best, on the env's next program."""
    observation, info = env.reset()
    over = False
    while not over:
        choice = int(policy.act([observation], info["mask"][None]))
        observation, _, terminated, truncated, info = env.step(choice)
        over = terminated or truncated
    return env.cost


def test_the_loss_by_hand() -> None:
    """Probabilities 1/4 and 3/4 of the two legal actions, then 1 of the only one."""
    logits = torch.tensor([[0.0, math.log(3), 5.0], [1.0, 2.0, 3.0]])
    mask = torch.tensor([[True, True, False], [False, False, True]])
    log_probs = masked_log_softmax(logits, mask)
    actions, ones = torch.tensor([0, 2]), torch.ones(2)
    assert cloning_loss(log_probs, mask, actions, ones).item() == pytest.approx(math.log(4) / 2)
    weights = torch.tensor([0.5, 1.5])
    assert cloning_loss(log_probs, mask, actions, weights).item() == pytest.approx(math.log(4) / 4)
    smoothed = (0.8 * math.log(4) + 0.2 * (math.log(4) + math.log(4 / 3)) / 2) / 2
    assert cloning_loss(log_probs, mask, actions, ones, 0.2).item() == pytest.approx(smoothed)


def test_an_illegal_action_gets_no_gradient() -> None:
    logits = torch.zeros(1, 3, requires_grad=True)
    mask = torch.tensor([[True, True, False]])
    log_probs = masked_log_softmax(logits, mask)
    cloning_loss(log_probs, mask, torch.tensor([0]), torch.ones(1), 0.1).backward()
    assert logits.grad is not None
    assert logits.grad[0, 2] == 0
    assert logits.grad[0, 0] == pytest.approx(-0.45)  # 1/2 - (0.9 + 0.1 / 2)


def test_weights_are_gains_with_mean_1_and_losses_count_for_nothing() -> None:
    steps = [step(gain=0.1), step(gain=0.3), step(gain=-5.0), step(gain=0.0)]
    assert step_weights(steps, "gain").tolist() == pytest.approx([1, 3, 0, 0])
    assert step_weights(steps, "none").tolist() == [1, 1, 1, 1]
    with pytest.raises(InputError, match="no demonstration is better"):
        step_weights(steps[2:], "gain")


def test_whole_programs_are_held_out() -> None:
    steps = [step(str(i // 3)) for i in range(30)]
    held_out = validation_programs(steps, 0.35, seed=1)
    assert len(held_out) == 3
    assert held_out == validation_programs(steps, 0.35, seed=1)
    assert any(validation_programs(steps, 0.35, seed) != held_out for seed in range(2, 6))
    assert validation_programs(steps, 0.09, seed=1) == set()


def test_dropout_scales_and_is_gone_afterwards() -> None:
    layer = torch.nn.Identity()
    vectors = torch.ones(1000)
    torch.manual_seed(0)
    with dropout(layer, 0.2):
        found = layer(vectors)
        layer.eval()
        assert torch.equal(layer(vectors), vectors)
    assert set(found.tolist()) == {0.0, 1.25}
    assert found.mean().item() == pytest.approx(1.0, abs=0.05)
    layer.train()
    assert torch.equal(layer(vectors), vectors)


def test_deterministic_demonstrations_are_learned_to_the_last() -> None:
    demonstrations = [halve_first(value) for value in range(1, 200, 3)]
    agent = cloning(CloningConfig(batch_size=64, learning_rate=3e-3, validation_share=0.0), demonstrations)
    assert agent.iterate()["accuracy/train"] < 0.9
    while agent.iterate()["accuracy/train"] < 1.0:
        assert agent.epochs < 300
    programs = [item.program for item in demonstrations if isinstance(item.program, Program)]
    env = Env(TASK, programs, limits=None, max_steps=20)
    assert {end_of(env, agent.policy) for _ in demonstrations} == {OPTIMUM}


def test_the_best_passes_are_imitated_on_several_files() -> None:
    """The demonstrations are the optima; a policy that repeats them reaches the optima."""
    demonstrations = [
        Demonstration(program(name), cheapest(name)[1][0], cheapest(name)[0], 300.0) for name in FILES
    ]
    envs = VectorEnv([partial(pass_env, *FILES)] * 2)
    config = CloningConfig(learning_rate=3e-3, validation_share=0.0)
    agent = Cloning(
        envs, lambda: small_policy(FEATURES, len(PASSES)), config, seed=0, demonstrations=demonstrations
    )
    while agent.iterate()["accuracy/train"] < 1.0:
        assert agent.epochs < 300
    env = pass_env(*FILES)
    assert [end_of(env, agent.policy) for _ in FILES] == [cheapest(name)[0] for name in FILES]


def test_the_critic_learns_the_return_to_go() -> None:
    demonstrations = [halve_first(value) for value in (1, 5, 40, 97)]
    config = CloningConfig(learning_rate=3e-3, validation_share=0.0, value_weight=1.0)
    agent = cloning(config, demonstrations)
    for _ in range(300):
        metrics = agent.iterate()
    assert metrics["loss/value"] < 0.01
    states = list(np.array([[97, 0, 0, 0], [40, 0, 0, 0], [1, 0, 0, 0]]))
    values = agent.policy.values(agent.policy.collate(states)).tolist()
    assert values == pytest.approx([math.log(98), math.log(41), math.log(2)], abs=0.2)


def test_training_ends_with_the_best_parameters_where_validation_no_longer_improves() -> None:
    """Actions at random: what is learned of them by heart makes the others less likely."""
    rng = np.random.default_rng(0)
    names = ("subtract(1)", "subtract(3)", "add(1)")
    effects = (-1, -3, 1)
    demonstrations = []
    for value in range(100, 160):
        chosen = rng.integers(3, size=4)
        cost = 1.0 + value + sum(effects[i] for i in chosen)
        demonstrations.append(
            Demonstration(counters(f"a={value}"), tuple(names[i] for i in chosen), cost, 999.0)
        )
    agent = cloning(CloningConfig(learning_rate=1e-2, validation_share=0.5, patience=4), demonstrations)
    losses = []
    while not agent.finished:
        losses.append(agent.iterate()["loss/validation"])
        assert len(losses) < 200
    assert np.argmin(losses) == len(losses) - 1 - 4
    before = agent.state_dict()
    after = agent.iterate()
    assert after["finished"] == 1.0
    assert after["loss/validation"] == pytest.approx(min(losses))
    assert after["steps"] == before["counters"][1]


def test_weighted_by_gain_the_better_of_two_experts_is_followed() -> None:
    """One subtracts 1 of 9 for a gain of log(2), the other adds 1 for one of log(10 / 9)."""
    good = Demonstration(counters("a=9"), ("subtract(1)",), 9.0, reference=18.0)
    bad = Demonstration(counters("a=9"), ("add(1)",), 11.0, reference=11.0 * 10 / 9)
    demonstrations = [good, bad, bad, bad]
    state, mask = [np.array([9, 0, 0, 0])], np.array([[False, True, True, True]])
    for weighting, expected in (("none", 3), ("gain", 1)):
        config = CloningConfig(learning_rate=1e-2, validation_share=0.0, weighting=weighting)  # type: ignore[arg-type]
        agent = cloning(config, demonstrations)
        for _ in range(100):
            agent.iterate()
        assert agent.policy.act(state, mask).tolist() == [expected]
    probabilities = agent.policy.log_probs(agent.policy.collate(state), torch.from_numpy(mask)).exp()
    share = math.log(2) / (math.log(2) + 3 * math.log(10 / 9))
    assert probabilities[0, 1].item() == pytest.approx(share, abs=0.02)


def test_goes_on_from_a_checkpoint_to_the_same_metrics() -> None:
    demonstrations = [halve_first(value) for value in range(1, 60, 2)]
    config = CloningConfig(batch_size=32, dropout=0.2, validation_share=0.2, label_smoothing=0.05)
    config = replace(config, value_weight=0.5)
    assert_goes_on_alike(lambda: cloning(config, demonstrations), 2, 3)


def test_a_checkpoint_knows_that_training_was_over() -> None:
    demonstrations = [halve_first(value) for value in range(1, 60, 2)]
    config = CloningConfig(learning_rate=0.1, validation_share=0.5, patience=1)
    agent, other = cloning(config, demonstrations), cloning(config, demonstrations)
    while not agent.finished:
        agent.iterate()
    other.load_state_dict(agent.state_dict())
    assert other.finished
    assert other.iterate() == agent.iterate()


def test_demonstrations_that_fail_are_named() -> None:
    demonstrations = [halve_first(5), replace(halve_first(8), cost=7.0)]
    agent = cloning(CloningConfig(), demonstrations)
    assert list(agent.failures) == ["a=8"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weighting": "gains"}, "expected 'none' or 'gain', not 'gains'"),
        ({"dropout": 1.0}, "dropout: expected a number from 0 to 0.95, not 1.0"),
        ({"batch_size": 0}, "batch_size: expected a number at least 1"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CloningConfig(**settings)
