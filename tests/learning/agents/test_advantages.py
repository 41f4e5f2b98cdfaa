"""Generalized advantage estimation: by hand, and as another library has it."""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.buffers import RolloutBuffer

from burnish.learning.agents.ppo import Trajectory, gae


def advantages(
    rewards: list[float], values: list[float], following: list[float], terminated: list[int], over: list[int]
) -> list[float]:
    numbers = map(np.array, (rewards, values, following))
    flags = (np.array(column, dtype=bool) for column in (terminated, over))
    found = gae(Trajectory(*numbers, *flags), discount=0.5, gae_lambda=0.5)
    return [float(a) for a in found]


def test_gae_of_an_episode_that_terminates() -> None:
    """d = (1 + 0.5*4 - 2, 2 + 0.5*8 - 4, 3 - 8) = (1, 2, -5); A = (1 + 0.25*0.75, 2 - 0.25*5, -5)."""
    found = advantages([1, 2, 3], [2, 4, 8], [4, 8, 100], [0, 0, 1], [0, 0, 1])
    assert found == [1.1875, 0.75, -5.0]


def test_gae_of_an_episode_that_is_truncated_adds_the_value_of_what_it_ended_in() -> None:
    """As above, but the last d is 3 + 0.5*100 - 8 = 45."""
    found = advantages([1, 2, 3], [2, 4, 8], [4, 8, 100], [0, 0, 0], [0, 0, 1])
    assert found == [1 + 0.25 * 13.25, 2 + 0.25 * 45, 45]


def test_gae_does_not_cross_from_an_episode_into_the_next() -> None:
    first = advantages([1, 2], [2, 4], [4, 6], [0, 0], [0, 1])
    second = advantages([5, 7], [1, 3], [3, 9], [0, 1], [0, 1])
    both = advantages([1, 2, 5, 7], [2, 4, 1, 3], [4, 6, 3, 9], [0, 0, 0, 1], [0, 1, 0, 1])
    assert both == first + second


def test_gae_agrees_with_stable_baselines() -> None:
    rng = np.random.default_rng(0)
    steps, count = 40, 3
    space = gymnasium.spaces.Box(0, 1, (1,))
    buffer = RolloutBuffer(steps, space, gymnasium.spaces.Discrete(2), "cpu", 0.9, 0.97, n_envs=count)
    starts = rng.random((steps + 1, count)) < 0.2
    rewards, values = rng.normal(size=(2, steps, count)).astype(np.float32)
    for t in range(steps):
        buffer.add(
            np.zeros((count, 1)),
            np.zeros(count),
            rewards[t],
            starts[t],
            torch.tensor(values[t]),
            torch.zeros(count),
        )
    last = rng.normal(size=count).astype(np.float32)
    buffer.compute_returns_and_advantage(torch.tensor(last), starts[steps])
    following = np.concatenate([values[1:], last[None]])
    trajectory = Trajectory(rewards, values, following, starts[1:], starts[1:])
    found = gae(trajectory, discount=0.97, gae_lambda=0.9)
    np.testing.assert_allclose(found, buffer.advantages, rtol=1e-4, atol=1e-5)
