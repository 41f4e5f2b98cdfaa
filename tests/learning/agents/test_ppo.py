"""Proximal policy optimization: its equations, its updates, and what it learns."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import gymnasium
import numpy as np
import pytest
import sb3_contrib
import stable_baselines3
import torch
from stable_baselines3.common.logger import Logger

from burnish.core.errors import InputError
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.policy import Policy
from burnish.learning.agents.ppo import (
    PPO,
    PPOConfig,
    RolloutBatch,
    kl_divergence,
    normalized,
    policy_loss,
    value_loss,
)
from burnish.learning.agents.rollout import Episode
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls, optimum
from tests.core.counting_task import OPTIMUM, TASK, counters
from tests.learning.agents.problems import (
    assert_goes_on_alike,
    counting_envs,
    counting_policy,
    learned_cost,
    llvm_envs,
    llvm_optimum,
    llvm_policy,
    small_policy,
)


def test_policy_loss_is_clipped_only_where_that_makes_it_worse() -> None:
    """Ratios 2, 2, 0.5, 0.5, 1.1 at advantages 1, -1, 1, -1, 3: terms 1.2, -2, 0.5, -0.8, 3.3."""
    ratios = torch.tensor([2, 2, 0.5, 0.5, 1.1])
    found = policy_loss(ratios.log(), torch.zeros(5), torch.tensor([1.0, -1, 1, -1, 3]), 0.2)
    assert found.item() == pytest.approx(-(1.2 - 2 + 0.5 - 0.8 + 3.3) / 5)


def test_value_loss() -> None:
    values, before, returns = torch.tensor([1.0, 5.0]), torch.tensor([0.0, 4.5]), torch.tensor([3.0, 3.0])
    assert value_loss(values, before, returns, None).item() == (4 + 4) / 2
    assert value_loss(values, before, returns, 0.5).item() == (2.5**2 + 4) / 2


def test_kl_estimate() -> None:
    """Ratios 2 and 0.5: ((2 - 1 - log 2) + (0.5 - 1 + log 2)) / 2."""
    found = kl_divergence(torch.tensor([2, 0.5]).log(), torch.zeros(2))
    assert found.item() == pytest.approx(0.25)


def test_advantages_are_normalized() -> None:
    found = normalized(torch.tensor([1.0, 2.0, 3.0]))
    assert found.tolist() == pytest.approx([-1, 0, 1])
    assert normalized(torch.tensor([5.0])).tolist() == [5]


def episode(rewards: list[float], notes: list[tuple[float, float]], *, terminated: bool) -> Episode:
    count = len(rewards)
    observations = [np.array([i, 0, 0, 0]) for i in range(count + 1)]
    return Episode(
        "p",
        observations,
        [np.array([True, i % 2 == 0, False, False]) for i in range(count + 1)],
        [0] * count,
        rewards,
        [np.array(note) for note in notes],
        terminated=terminated,
        truncated=not terminated,
    )


def test_a_batch_is_made_of_episodes() -> None:
    agent = PPO(counting_envs(1), counting_policy, PPOConfig(discount=0.5, gae_lambda=0.0), seed=0)
    played = [
        episode([1, 2], [(-0.1, 4), (-0.2, 6)], terminated=True),
        episode([3, 5], [(-0.3, 8), (-0.4, 2)], terminated=False),
    ]
    batch = agent.batch(played)
    with torch.no_grad():
        final = agent.policy.values(agent.policy.collate([np.array([2, 0, 0, 0])])).item()
    expected = [1 + 0.5 * 6 - 4, 2 - 6, 3 + 0.5 * 2 - 8, 5 + 0.5 * final - 2]
    assert batch.advantages.tolist() == pytest.approx(expected, rel=1e-5)
    assert batch.returns.tolist() == pytest.approx([4, 2, 4, 5 + 0.5 * final], rel=1e-5)
    assert [int(row[0]) for row in batch.observations] == [0, 1, 0, 1]
    assert batch.masks.tolist() == [[True, True, False, False], [True, False, False, False]] * 2
    assert batch.log_probs.tolist() == pytest.approx([-0.1, -0.2, -0.3, -0.4])


def test_without_bootstrapping_the_step_limit_is_an_end() -> None:
    config = PPOConfig(discount=0.5, gae_lambda=0.0, bootstrap=False)
    agent = PPO(counting_envs(1), counting_policy, config, seed=0)
    batch = agent.batch([episode([3, 5], [(-0.3, 8), (-0.4, 2)], terminated=False)])
    assert batch.returns.tolist() == [4, 5]


class Lenient(gymnasium.Wrapper[Any, int, Any, int]):
    """What is illegal does something else: for an agent without masks."""

    def step(self, action: int) -> Any:
        legal = np.flatnonzero(self.unwrapped.action_masks())  # type: ignore[attr-defined]
        return self.env.step(int(action) if action in legal else int(legal[-1]))


class TheirPolicy(torch.nn.Module):
    """Their network behind our interface."""

    def __init__(self, policy: Any, masked: bool) -> None:
        super().__init__()
        self.policy = policy
        self.masked = masked
        self.encoder = SimpleNamespace(device=torch.device("cpu"))

    def collate(self, observations: Any) -> Any:
        return torch.as_tensor(np.stack(observations))

    def evaluate(self, batch: Any, mask: Any) -> Any:
        masks = {"action_masks": mask} if self.masked else {}
        distribution = self.policy.get_distribution(batch, **masks)
        return distribution.distribution.logits, self.policy.predict_values(batch).flatten()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("value_clip", [None, 0.05])
@pytest.mark.parametrize("target_kl", [None, 0.002])
def test_updates_agree_with_stable_baselines(
    masked: bool, value_clip: float | None, target_kl: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rollout, weights and minibatches: parameters are the same after three epochs."""
    env = Env(TASK, [counters("a=64 b=3"), counters("a=5")], observation="shares", limits=None)
    kind = sb3_contrib.MaskablePPO if masked else stable_baselines3.PPO
    theirs = kind(
        "MlpPolicy",
        env if masked else stable_baselines3.common.vec_env.DummyVecEnv([lambda: Lenient(env)]),
        n_steps=64,
        batch_size=16,
        n_epochs=3,
        learning_rate=1e-2,
        ent_coef=0.02,
        clip_range_vf=value_clip,
        target_kl=target_kl,
        seed=0,
        device="cpu",
    )
    theirs.set_logger(Logger(None, []))
    theirs.learn(64)  # fills the buffer, trains once, and leaves both as they are then
    vars(theirs.policy.action_dist)["distribution"] = None  # which cannot be copied
    weights = copy.deepcopy(theirs.policy)
    buffer: Any = theirs.rollout_buffer
    config = PPOConfig(
        epochs=3,
        minibatch=16,
        learning_rate=1e-2,
        entropy_coefficient=0.02,
        value_clip=value_clip,
        target_kl=target_kl,
    )
    ours = PPO(counting_envs(1), lambda: cast(Policy, TheirPolicy(weights, masked)), config, seed=0)
    ours.optimizer.load_state_dict(copy.deepcopy(theirs.policy.optimizer.state_dict()))
    size = buffer.buffer_size
    masks = torch.tensor(buffer.action_masks.reshape(size, -1) > 0) if masked else torch.ones(size, 4) > 0
    batch = RolloutBatch(
        list(buffer.observations.reshape(size, -1)),
        masks,
        torch.tensor(buffer.actions.reshape(size)).long(),
        *(
            torch.tensor(column.reshape(size))
            for column in (buffer.log_probs, buffer.values, buffer.advantages, buffer.returns)
        ),
    )
    measured = ours.update(batch, np.random.default_rng(7))
    monkeypatch.setattr(np.random, "permutation", np.random.default_rng(7).permutation)
    theirs.train()
    for ours_now, theirs_now in zip(weights.parameters(), theirs.policy.parameters(), strict=True):
        torch.testing.assert_close(ours_now, theirs_now, rtol=1e-4, atol=1e-6)
    assert (measured["updates"] < 12) == (target_kl is not None)
    their_metrics = theirs.logger.name_to_value
    if target_kl is None:
        assert measured["entropy"] == pytest.approx(-their_metrics["train/entropy_loss"], rel=1e-4)
        assert measured["loss/value"] == pytest.approx(their_metrics["train/value_loss"], rel=1e-4)
        assert measured["clip_fraction"] == pytest.approx(their_metrics["train/clip_fraction"], rel=1e-4)
    assert measured["explained_variance"] == pytest.approx(
        their_metrics["train/explained_variance"], rel=1e-4
    )


def test_the_learning_rate_falls_to_nothing() -> None:
    agent = PPO(counting_envs(2), counting_policy, PPOConfig(steps=14, anneal_steps=56), seed=0)
    assert [agent.iterate()["learning_rate"] for _ in range(4)] == pytest.approx([3e-4, 1.5e-4, 0, 0])


@pytest.mark.parametrize(("envs", "least", "played"), [(2, 6, 6), (2, 5, 6), (3, 1, 3)])
def test_an_iteration_has_so_many_episodes_of_programs_in_turn(
    envs: int, least: int, played: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = [counters(f"a={5 + number}") for number in range(12)]
    config = PPOConfig(steps=1, episodes=least)
    agent = PPO(counting_envs(envs, programs=programs), counting_policy, config, seed=0)
    seen: list[str] = []
    batch = agent.batch

    def noted(episodes: Sequence[Episode]) -> RolloutBatch:
        seen.extend(episode.program for episode in episodes)
        return batch(episodes)

    monkeypatch.setattr(agent, "batch", noted)
    assert [agent.iterate()["episodes"] for _ in range(2)] == [played, 2 * played]
    names = [program.name for program in programs]
    first = names.index(seen[0])
    assert seen == [names[(first + number) % 12] for number in range(2 * played)]


@pytest.mark.parametrize("critic", ["shared", pytest.param("separate", marks=pytest.mark.slow)])
def test_ppo_finds_the_optimum_of_counting(critic: str) -> None:
    config = PPOConfig(steps=56, minibatch=64, learning_rate=3e-3, discount=1.0, bootstrap=False)
    agent = PPO(counting_envs(4), lambda: counting_policy(critic=critic), config, seed=0)
    first = agent.iterate()
    assert learned_cost(agent, 16) == OPTIMUM
    last = agent.iterate()
    assert first["return"] < 2 < 3 < last["return"] <= math.log(65) + 1e-9
    assert last["steps"] >= 18 * 4 * 56


def test_ppo_finds_the_best_sequence_of_passes() -> None:
    config = PPOConfig(
        steps=24,
        minibatch=64,
        learning_rate=3e-3,
        anneal_steps=4000,
        discount=1.0,
        bootstrap=False,
        entropy_coefficient=0.05,
    )
    assert learned_cost(PPO(llvm_envs(), llvm_policy, config, seed=0), 24) == llvm_optimum()


def test_self_critical_ppo_answers_questions_as_well_as_possible() -> None:
    calls_of = calls("main 4: f g; f 2: h; g 6: h; h 5:")
    envs = VectorEnv(partial(Env, ASKING, calls_of, observation="question", limits=None), 2)
    config = PPOConfig(
        steps=1,
        episodes=8,
        self_critical=True,
        normalize_advantages=False,
        discount=0.0,
        gae_lambda=0.0,
        value_coefficient=0.0,
        entropy_coefficient=0.0,
        learning_rate=2e-2,
    )
    learner = PPO(envs, partial(small_policy, 5, len(ASKING.actions)), config, seed=1)
    for _ in range(10):
        learner.iterate()
    session = ASKING.open(calls_of)
    while session.question():
        seen, mask = session.observe("question"), session.legal()
        session.apply(int(learner.policy.act([seen], mask[None]).item()))
    assert session.measure("size") == optimum(calls_of)


def test_ppo_goes_on_from_its_state_to_the_same_metrics() -> None:
    config = PPOConfig(steps=14, minibatch=16, anneal_steps=1000)
    envs = counting_envs(3, programs=[counters("a=64"), counters("a=9 b=2"), counters("a=7")])
    assert_goes_on_alike(lambda: PPO(envs, counting_policy, config, seed=3), 3, 3)


def test_a_state_of_another_algorithm_is_refused() -> None:
    agent = PPO(counting_envs(1), counting_policy, seed=0)
    with pytest.raises(InputError, match="the state of ppo, not of 'dqn'"):
        agent.load_state_dict({"algorithm": "dqn"})


def test_what_cannot_be_configured_is_refused() -> None:
    with pytest.raises(InputError, match=r"PPOConfig.discount: expected a number from 0 to 1, not 1.1"):
        PPOConfig(discount=1.1)
    with pytest.raises(InputError, match=r"PPOConfig.minibatch: expected a number at least 1, not 0"):
        PPOConfig(minibatch=0)
