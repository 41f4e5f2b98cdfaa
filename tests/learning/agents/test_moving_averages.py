"""Rewards by a baseline of each program, by hand: MLGO's, and self-critical ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.learning.agents.ppo import MovingAverages, PPOConfig, self_critical
from burnish.learning.agents.rollout import Episode


def episode(size: float, steps: int = 2, program: str = "p", crashed: bool = False) -> Episode:
    """Return one that ends with so large a share of what the program was."""
    rewards = [0.0] * (steps - 1) + [-math.log(size)] if steps else []
    return Episode(program, [], [], [0] * steps, rewards, crashed=crashed)


def test_the_reward_is_by_the_average_of_the_program() -> None:
    averages = MovingAverages(0.8)
    first, other, second = averages.rewarded([episode(0.5), episode(1.0, program="q"), episode(0.9)])
    assert first.rewards == pytest.approx([1 - 0.51 / 1.01] * 2)
    assert other.rewards == [0.0] * 2
    assert second.rewards == pytest.approx([1 - 0.91 / (0.8 + 0.2 * 0.5 + 0.01)] * 2)
    assert averages.averages["p"] == pytest.approx(0.8 * 0.9 + 0.2 * 0.9)


def test_crashes_and_empty_episodes_are_left_as_they_are() -> None:
    averages = MovingAverages(0.8)
    played = [episode(0.5, crashed=True), episode(0.5, steps=0)]
    assert averages.rewarded(played) == played
    assert not averages.averages
    assert MovingAverages(None).rewarded([episode(0.5)])[0].rewards == pytest.approx([0.0, math.log(2)])


def test_the_averages_are_kept() -> None:
    one, other = MovingAverages(0.8), MovingAverages(0.8)
    one.rewarded([episode(0.5)])
    other.load_state_dict(one.state_dict())
    assert [item.rewards for item in other.rewarded([episode(0.7)])] == [
        item.rewards for item in one.rewarded([episode(0.7)])
    ]


def test_only_deviations_are_rewarded_by_what_they_change() -> None:
    """Returns of 0.3, 0.1 and 0.5 where the most probable actions have 0.2 each: +0.1, -0.1; q is unknown."""
    deviations = ([0, 1, 0], [1, 0, 1], [1])
    played = [
        Episode(
            name,
            [],
            [],
            [0] * len(row),
            [0.0] * (len(row) - 1) + [value],
            [np.array([-1.0, 0, x]) for x in row],
        )
        for name, value, row in zip(("p", "p", "q"), (0.3, 0.1, 0.5), deviations, strict=True)
    ]
    found = [one.rewards for one in self_critical(played, {"p": 0.2})]
    scale = math.sqrt((0.1**2 + 2 * 0.1**2) / 4)
    assert found[0] == pytest.approx([0, 0.1 / scale, 0])
    assert found[1] == pytest.approx([-0.1 / scale, 0, -0.1 / scale])
    assert found[2] == [0]
    assert [one.rewards for one in self_critical(played[:1], {"p": 0.3})] == [[0, 0, 0]]


def test_self_critical_play_is_an_episode_at_a_time() -> None:
    with pytest.raises(InputError, match="expected steps = 1"):
        PPOConfig(self_critical=True)
    assert PPOConfig(self_critical=True, steps=1).self_critical
