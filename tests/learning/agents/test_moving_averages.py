"""MLGO's reward, by hand."""

from __future__ import annotations

import math

import pytest

from burnish.learning.agents.ppo import MovingAverages
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
