"""Returns of n steps, and what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import NStepReplayBuffer

from burnish.learning.agents.replay import Replay, Transition, n_step_returns, transitions
from burnish.learning.agents.rollout import Episode


def episode(rewards: list[float], *, terminated: bool, first: int = 0) -> Episode:
    """Return one whose observations, masks and actions tell the step."""
    count = len(rewards)
    return Episode(
        "p",
        [first + t for t in range(count + 1)],
        [np.array([True, t % 2 == 0]) for t in range(count + 1)],
        [t % 2 for t in range(count)],
        rewards,
        [np.zeros(0)] * count,
        terminated=terminated,
        truncated=not terminated,
    )


def test_returns_of_n_steps() -> None:
    """1 + 2/2 + 4/4 = 3, 2 + 4/2 + 8/4 = 6, 4 + 8/2 = 8, 8."""
    sums, counts = n_step_returns(np.array([1.0, 2, 4, 8]), 3, 0.5)
    assert sums.tolist() == [3, 6, 8, 8]
    assert counts.tolist() == [3, 3, 2, 1]
    sums, counts = n_step_returns(np.array([1.0, 2]), 5, 0.5)
    assert (sums.tolist(), counts.tolist()) == ([2, 2], [2, 1])


@pytest.mark.parametrize(
    ("terminated", "bootstrap", "last"),
    [
        (True, True, [0.0, 0.0]),
        (True, False, [0.0, 0.0]),
        (False, False, [0.0, 0.0]),
        (False, True, [0.25, 0.5]),
    ],
)
def test_an_episode_that_is_truncated_goes_on_in_a_value(
    terminated: bool, bootstrap: bool, last: list[float]
) -> None:
    played = episode([1.0, 2, 4], terminated=terminated)
    found = transitions(played, steps=2, discount=0.5, bootstrap=bootstrap)
    assert [t.observation for t in found] == [0, 1, 2]
    assert [t.action for t in found] == [0, 1, 0]
    assert [t.reward for t in found] == [2, 4, 4]
    assert [t.next_observation for t in found] == [2, 3, 3]
    assert [t.discount for t in found] == [0.25, *last]
    assert [t.mask.tolist() for t in found] == [[True, True], [True, False], [True, True]]
    assert [t.next_mask.tolist() for t in found] == [[True, True], [True, False], [True, False]]


def test_transitions_agree_with_stable_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    episodes = [
        episode(rng.normal(size=int(length)).tolist(), terminated=bool(i % 2), first=100 * i)
        for i, length in enumerate(rng.integers(1, 9, size=12))
    ]
    total = sum(map(len, episodes))
    box = spaces.Box(0, 10_000, (1,), np.int64)
    theirs = NStepReplayBuffer(total + 5, box, spaces.Discrete(2), "cpu", n_steps=3, gamma=0.9)
    for played in episodes:
        for t in range(len(played)):
            end = t + 1 == len(played)
            theirs.add(
                np.array([[played.observations[t]]]),
                np.array([[played.observations[t + 1]]]),
                np.array([played.actions[t]]),
                np.array([played.rewards[t]]),
                np.array([end]),
                [{"TimeLimit.truncated": end and played.truncated}],
            )
    expected = theirs._get_samples(np.arange(total))
    found = [t for e in episodes for t in transitions(e, steps=3, discount=0.9, bootstrap=True)]

    def column(values: Any) -> list[Any]:
        return [float(value) for value in values.flatten()]

    assert [t.observation for t in found] == column(expected.observations)
    assert [t.reward for t in found] == pytest.approx(column(expected.rewards), rel=1e-5)
    assert [t.next_observation for t in found] == column(expected.next_observations)
    assert expected.discounts is not None
    discounts = expected.discounts * (1 - expected.dones)
    assert [t.discount for t in found] == pytest.approx(column(discounts), rel=1e-5)


def numbered(number: int) -> Transition:
    mask = np.array([True, number % 2 == 0])
    return Transition(number, mask, number % 2, number / 2, number + 1, ~mask, 0.5)


def test_the_oldest_are_forgotten() -> None:
    replay = Replay(3)
    replay.extend([numbered(i) for i in range(8)])
    assert len(replay) == 3
    drawn = replay.sample(100, np.random.default_rng(0), torch.device("cpu"))
    assert set(drawn.observations) == {5, 6, 7}


def test_a_batch_has_what_belongs_together() -> None:
    replay = Replay(100)
    replay.extend([numbered(i) for i in range(50)])
    drawn = replay.sample(64, np.random.default_rng(0), torch.device("cpu"))
    numbers = torch.tensor(drawn.observations)
    assert len(set(numbers.tolist())) > 20
    assert torch.equal(drawn.actions, numbers % 2)
    assert torch.equal(drawn.rewards, numbers.float() / 2)
    assert torch.equal(torch.tensor(drawn.next_observations), numbers + 1)
    assert torch.equal(drawn.masks[:, 1], numbers % 2 == 0)
    assert torch.equal(drawn.next_masks, ~drawn.masks)


def test_a_replay_goes_on_from_its_state() -> None:
    first, second = Replay(3), Replay(3)
    first.extend([numbered(i) for i in range(4)])
    second.load_state_dict(first.state_dict())
    for replay in (first, second):
        replay.extend([numbered(9)])
    device = torch.device("cpu")
    one, other = (r.sample(20, np.random.default_rng(1), device) for r in (first, second))
    assert one.observations == other.observations
    assert set(one.observations) == {2, 3, 9}
