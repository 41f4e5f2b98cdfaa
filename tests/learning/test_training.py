"""Agents of other libraries train on the environments."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import sb3_contrib
import stable_baselines3
import torch
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from burnish.core.errors import IllegalAction
from burnish.envs.env import Env
from burnish.tasks.llvm_passes import TASK as LLVM
from tests.core.counting_task import OPTIMUM, TASK, counters
from tests.sources import program


def weights(agent: Any) -> list[Any]:
    return [parameter.detach().clone() for parameter in agent.policy.parameters()]


def changed(before: list[Any], agent: Any) -> bool:
    return any(not torch.equal(old, new) for old, new in zip(before, weights(agent), strict=True))


@pytest.mark.usefixtures("nothing_left")
def test_stable_baselines_accepts_the_environment() -> None:
    env = Env(LLVM, program("matrix.c"), observation="autophase-normalized", max_steps=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*symmetric and normalized.*")
        check_env(env)
    env.close()


def test_ppo_trains_on_llvm() -> None:
    several = DummyVecEnv(
        [lambda: Env(LLVM, program("matrix.c"), observation="autophase-normalized", max_steps=10)] * 2
    )
    agent = stable_baselines3.PPO("MlpPolicy", several, n_steps=64, batch_size=64, seed=0, device="cpu")
    before = weights(agent)
    agent.learn(256)
    assert agent.num_timesteps == 256
    assert changed(before, agent)
    several.close()


def test_masked_ppo_trains_on_llvm_at_functions_and_never_chooses_what_is_illegal() -> None:
    """Module passes are illegal at functions; an illegal step would raise."""
    env = Env(LLVM, program("matrix.c"), observation="opcode-counts-normalized", max_steps=10, sites=2)
    env.reset()
    illegal = int((~env.action_masks()).sum())
    assert illegal > 50
    with pytest.raises(IllegalAction):
        env.step(int(np.flatnonzero(~env.action_masks())[0]))
    agent = sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=64, seed=0, device="cpu")
    before = weights(agent)
    agent.learn(192)
    assert changed(before, agent)
    env.close()


@pytest.mark.slow
def test_masked_ppo_learns_what_is_best() -> None:
    """A counter of 64 is at the optimum after six times halve and one subtract(1)."""
    env = Env(TASK, counters("a=64"), max_steps=7, limits=None)
    agent = sb3_contrib.MaskablePPO(
        "MlpPolicy", env, n_steps=256, batch_size=64, learning_rate=3e-3, ent_coef=0.01, seed=0, device="cpu"
    )
    untrained = [play(agent, env, seed) for seed in range(30)]
    agent.learn(3000)
    assert np.median(untrained) > 20
    assert play(agent, env, None) == OPTIMUM


def play(agent: Any, env: Env, seed: int | None) -> float:
    """Play an episode, a random one where there is a seed, and return its last cost."""
    if seed is not None:
        agent.set_random_seed(seed)
    observed, _ = env.reset()
    done = False
    while not done:
        masks = env.action_masks()
        action, _ = agent.predict(observed, action_masks=masks, deterministic=seed is None)
        assert masks[action]
        observed, _, terminated, truncated, _ = env.step(int(action))
        done = terminated or truncated
    return env.cost


@pytest.mark.parametrize("vector", [DummyVecEnv, SubprocVecEnv])
def test_masks_are_found_in_stable_baselines_vectors(vector: Any) -> None:
    several = vector([partial(Env, TASK, counters(text), limits=None) for text in ("a=8", "a=5")])
    several.reset()
    assert is_masking_supported(several)
    assert get_action_masks(several).tolist() == [[True] * 4, [False, True, True, True]]
    several.close()
