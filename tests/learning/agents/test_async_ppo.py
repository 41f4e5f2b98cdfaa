"""Asynchronous PPO: V-trace by hand, staleness, and learning from actors whose policies are old."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.errors import InputError
from burnish.learning.agents.async_ppo import AsyncPPO, AsyncPPOConfig, Played, vtrace
from burnish.learning.agents.ppo import PPO, PPOConfig, Trajectory, gae
from burnish.learning.agents.rollout import play
from tests.core.counting_task import OPTIMUM
from tests.learning.agents.problems import (
    assert_goes_on_alike,
    counting_envs,
    counting_policy,
    learned_cost,
)


def trajectory(rewards: list[float], values: list[float], *, ends: set[int], terminal: bool) -> Trajectory:
    """Return a trajectory; each episode that is truncated has a next value of 10."""
    over = np.array([i in ends for i in range(len(rewards))])
    following = np.where(over, 10.0, np.append(values[1:], 0.0))
    return Trajectory(np.array(rewards), np.array(values), following, over & terminal, over)


def test_vtrace_by_hand() -> None:
    """Two steps, then the true end: v_1 = 2 + 0.5 (4 - 2) = 3; v_0 = 1 + 1 (1 + 0.5 v_1 - 1) = 2.5.

    The second ratio is 0.5; the first is above 1 and counts as 1.
    """
    steps = trajectory([1.0, 4.0], [1.0, 2.0], ends={1}, terminal=True)
    advantages, targets = vtrace(steps, np.array([3.0, 0.5]), discount=0.5, keep=1.0)
    assert targets.tolist() == [2.5, 3.0]
    assert advantages.tolist() == [1 + 0.5 * 3 - 1, 4 - 2]


def test_vtrace_keeps_a_share_of_the_correction() -> None:
    """With lambda 0.5: A_0 = 1 + 0.5 (0.5 v_1 + 0.5 V_1) - 1 = 1.25, and w_1 = 0.5 in v_1 = 3."""
    steps = trajectory([1.0, 4.0], [1.0, 2.0], ends={1}, terminal=True)
    advantages, targets = vtrace(steps, np.array([1.0, 0.5]), discount=0.5, keep=0.5)
    assert advantages.tolist() == [1.25, 2.0]
    assert targets.tolist() == [2.25, 3.0]


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.booleans()), min_size=1, max_size=12),
    st.booleans(),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_on_policy_vtrace_is_gae(
    rows: list[tuple[float, float, bool]], terminal: bool, discount: float, keep: float
) -> None:
    ends = {i for i, row in enumerate(rows) if row[2]} | {len(rows) - 1}
    steps = trajectory([row[0] for row in rows], [row[1] for row in rows], ends=ends, terminal=terminal)
    advantages, targets = vtrace(steps, np.ones(len(rows)), discount=discount, keep=keep)
    expected = gae(steps, discount=discount, gae_lambda=keep)
    assert advantages == pytest.approx(expected)
    assert targets == pytest.approx(expected + steps.values)


class LateActors:
    """Actors in this process, which play by the policy of some versions ago."""

    count = 1

    def __init__(self, late: int) -> None:
        self._player = PPO(counting_envs(4), counting_policy, PPOConfig(), seed=1)
        self._policies: deque[tuple[int, dict[str, Any]]] = deque(maxlen=late + 1)
        self.lost = self.oldest = 0

    def publish(self, version: int, first: int, policy: Mapping[str, Any]) -> None:
        copied = {name: value.clone() for name, value in policy.items()}
        self._policies.append((version, copied))
        self._first = first

    def take(self, steps: int, oldest: int) -> list[Played]:
        self.oldest = oldest
        version, policy = self._policies[0]
        self._player.policy.load_state_dict(policy)
        self._player.iterations = self._policies[-1][0]
        played = play(self._player.envs, self._player._actor(), steps=steps // 4, seed=self._first)
        return [Played(episode, version) for episode in played]


def agent(late: int, **settings: Any) -> AsyncPPO:
    config = AsyncPPOConfig(**{"steps": 28, "minibatch": 32, "learning_rate": 2e-3} | settings)
    return AsyncPPO(counting_envs(4), counting_policy, config, seed=3, actors=LateActors(late))


def test_staleness_is_reported_and_bounded() -> None:
    late = agent(2, staleness=3)
    rows = [late.iterate() for _ in range(4)]
    assert [row["staleness"] for row in rows] == [0.0, 1.0, 2.0, 2.0]
    assert [row["staleness/most"] for row in rows] == [0.0, 1.0, 2.0, 2.0]
    assert isinstance(late.actors, LateActors)
    assert late.actors.oldest == 4 + 1 - 3


@pytest.mark.parametrize("correction", ["v-trace", "ratio"])
def test_it_learns_from_a_policy_of_two_updates_ago(correction: str) -> None:
    assert learned_cost(agent(2, correction=correction), 16) == OPTIMUM


def test_an_on_policy_batch_is_that_of_ppo() -> None:
    async_ppo = agent(0)
    ppo = PPO(counting_envs(4), counting_policy, PPOConfig(), seed=3)
    played = async_ppo._play()
    found, expected = async_ppo.batch(played), ppo.batch(played)
    assert found.advantages.numpy() == pytest.approx(expected.advantages.numpy(), abs=1e-5)
    assert found.returns.numpy() == pytest.approx(expected.returns.numpy(), abs=1e-5)


def test_it_goes_on_from_a_checkpoint() -> None:
    assert_goes_on_alike(lambda: agent(0), before=2, after=2)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(InputError, match=r"correction: expected 'v-trace' or 'ratio', not 'none'"):
        AsyncPPOConfig(correction="none")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"staleness: expected a number at least 1, not 0"):
        AsyncPPOConfig(staleness=0)
