from __future__ import annotations

import functools
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.errors import InputError
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.rollout import Episode
from burnish.learning.agents.tabular import QTable, TabularQ, TabularQConfig, falling, lambda_returns
from burnish.policies.value_table import state_key
from tests.core.counting_task import LARGEST, OPTIMUM, CountingSession, counters
from tests.learning.agents.exhaustive import cheapest_of_all, pass_env
from tests.learning.agents.problems import assert_goes_on_alike, counting_envs, play_greedily

NUMBERS = st.floats(-10, 10)


@functools.cache
def solution(discount: float) -> np.ndarray:
    """Return the values of a counter's actions by value iteration, float64[LARGEST + 1, 4]; NaN: illegal."""
    masks = np.array([CountingSession(counters(f"a={n}")).legal() for n in range(LARGEST + 1)])
    values = np.arange(LARGEST + 1)
    after = np.stack([values // 2, values - 1, values - 3, values + 1], axis=1)
    after = np.where(masks, after, 0)
    rewards = np.log((1 + values[:, None]) / (1 + after))
    best = np.zeros(LARGEST + 1)
    while True:
        found = np.where(masks, rewards + discount * best[after], np.nan)
        now = np.concatenate([[0.0], np.nanmax(found[1:], axis=1)])
        if np.array_equal(now, best):
            return found
        best = now


def test_lambda_returns_by_hand() -> None:
    rewards, values = np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 30.0])
    followed = np.zeros(3, dtype=bool)
    returns = partial(lambda_returns, rewards, values, discount=0.5)
    assert returns(followed, trace_decay=0.0).tolist() == [6.0, 12.0, 19.0]
    assert returns(followed, trace_decay=1.0).tolist() == [1 + 0.5 * (2 + 0.5 * 19), 2 + 0.5 * 19, 19.0]
    # 19, then 2 + (20 / 2 + 19 / 2) / 2, then 1 + (10 / 2 + 11.75 / 2) / 2
    assert returns(followed, trace_decay=0.5).tolist() == [6.4375, 11.75, 19.0]
    explored = np.array([True, True, False])
    assert returns(explored, trace_decay=0.5).tolist() == [6.0, 11.75, 19.0]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), st.floats(0, 1))
def test_with_lambda_1_they_are_discounted_sums_that_end_in_a_value(
    steps: list[tuple[float, float]], discount: float
) -> None:
    rewards, values = np.array(steps).T
    found = lambda_returns(rewards, values, np.zeros(len(steps)) > 0, discount=discount, trace_decay=1.0)
    powers = discount ** np.arange(len(steps))
    assert found[0] == pytest.approx(rewards @ powers + discount ** len(steps) * values[-1], abs=1e-9)


def test_td_lambda_solves_the_random_walk() -> None:
    """Five states in a row, 1 for leaving to the right: 1/6 to 5/6 (Sutton and Barto, example 6.2)."""
    rng = np.random.default_rng(0)
    values = np.full(7, 0.5)
    values[[0, 6]] = 0.0
    for number in range(20_000):
        states = [3]
        while 0 < states[-1] < 6:
            states.append(states[-1] + int(rng.choice((-1, 1))))
        rewards = np.zeros(len(states) - 1)
        rewards[-1] = states[-1] == 6
        followed = np.zeros(len(rewards), dtype=bool)
        returns = lambda_returns(rewards, values[states[1:]], followed, discount=1.0, trace_decay=0.8)
        for state, target in zip(states, returns, strict=False):
            values[state] += (target - values[state]) / (20 + number / 10)
    assert values[1:6] == pytest.approx(np.arange(1, 6) / 6, abs=0.02)


def test_keys_tell_states_apart() -> None:
    one = np.array([1, 2])
    graph = gymnasium.spaces.GraphInstance(one[:, None], None, None)
    seen = [
        one,
        np.array([2, 1]),
        one.astype(np.int32),
        one[:, None],
        {"a": one},
        {"b": one},
        {"a": one, "b": one},
        graph,
        graph._replace(edges=one[:, None]),
        "12",
        b"12",
    ]
    assert len({state_key(item) for item in seen}) == len(seen)
    assert state_key({"a": one, "b": "x"}) == state_key({"b": "x", "a": one.copy()})


def test_updates_by_hand() -> None:
    """Two steps, of which the second was not the best one: 3 -> 2 -> 5 by reward 1 and 4, then truncated."""
    config = TabularQConfig(learning_rate=0.5, discount=0.9, trace_decay=1.0)
    agent = TabularQ(counting_envs(1), config=config, seed=0)
    three, two, five = (np.array([n, 0, 0, 0]) for n in (3, 2, 5))
    every = np.ones(4, dtype=bool)
    agent.policy.move(two, 0, 8.0, 1.0)
    agent.policy.move(five, 1, 100.0, 1.0)
    agent.policy.move(five, 3, 10.0, 1.0)
    last = np.array([True, False, True, True])
    masks = [every, every, last]
    notes = [np.array([0.0]), np.array([1.0])]
    episode = Episode("", [three, two, five], masks, [1, 3], [1.0, 4.0], notes, truncated=True)
    assert agent.learn(episode) == pytest.approx([1 + 0.9 * 8, 4 + 0.9 * 10])
    assert agent.policy.row(three).tolist() == pytest.approx([0, 0.5 * 8.2, 0, 0])
    assert agent.policy.row(two).tolist() == pytest.approx([8, 0, 0, 0.5 * 13])
    episode.terminated = True
    assert agent.learn(episode)[1] == pytest.approx(4 - 6.5)


def test_q_learning_agrees_with_dynamic_programming() -> None:
    """Everything that follows from up to 8 is explored, at random; nothing is random in what follows."""
    programs = [counters(f"a={n}") for n in range(1, 9)]
    settings: dict[str, Any] = {"learning_rate": 1.0, "epsilon_end": 1.0, "discount": 0.9, "trace_decay": 0.0}
    envs = counting_envs(4, programs=programs, max_steps=12)
    agent = TabularQ(envs, config=TabularQConfig(**settings), seed=0)
    for _ in range(30):
        agent.iterate()
    exact = solution(0.9)
    for value in range(1, 9):
        mask = CountingSession(counters(f"a={value}")).legal()
        row = agent.policy.row(np.array([value, 0, 0, 0]))
        assert row[mask] == pytest.approx(exact[value][mask], abs=1e-9)
    assert agent.iterate()["loss/error"] < 0.1


@pytest.mark.parametrize("trace_decay", [0.0, 0.9])
def test_q_learning_finds_the_optimum_of_counting(trace_decay: float) -> None:
    config = TabularQConfig(steps=56, epsilon_steps=2000, trace_decay=trace_decay)
    agent = TabularQ(counting_envs(2), config=config, seed=0)
    for _ in range(30):
        metrics = agent.iterate()
    assert play_greedily(agent.policy, agent.envs) == OPTIMUM
    assert metrics["return"] > 3
    assert metrics["states"] == len(agent.policy) > 50


@pytest.mark.slow
def test_q_learning_finds_the_best_sequence_of_passes() -> None:
    """The fourth of five passes makes the module larger; no number of passes leads to a smaller one."""
    least, states = cheapest_of_all("structs.c")
    config = TabularQConfig(steps=50, epsilon_steps=3000, learning_rate=1.0)
    envs = VectorEnv(partial(pass_env, "structs.c", max_steps=5))
    agent = TabularQ(envs, config=config, seed=0)
    for _ in range(70):
        metrics = agent.iterate()
    assert play_greedily(agent.policy, agent.envs) == least
    assert metrics["states"] <= states


def test_a_table_acts_greedily_without_a_generator_and_never_illegally() -> None:
    table = QTable(3)
    state = np.array([1])
    for action, value in enumerate((5.0, 3.0, 3.0)):
        table.move(state, action, value, 1.0)
    masks = np.array([[True, True, True], [False, True, True]])
    assert table.act([state, state], masks).tolist() == [0, 1]
    generator = torch.Generator().manual_seed(0)
    chosen = [table.act([state], masks[1:], generator).item() for _ in range(50)]
    assert set(chosen) == {1, 2}
    chosen = [table.act([state], masks[:1], generator, epsilon=0.5).item() for _ in range(60)]
    assert set(chosen) == {0, 1, 2}
    assert chosen.count(0) > 30
    assert table.best(state, masks[1]) == 3.0
    assert table.best(state, np.zeros(3, dtype=bool)) == 0.0


def test_optimism_tries_everything() -> None:
    agent = TabularQ(counting_envs(1), config=TabularQConfig(initial_value=10.0, epsilon_start=0.0), seed=0)
    for _ in range(3):
        agent.iterate()
    row = agent.policy.row(np.array([64, 0, 0, 0]))
    assert (row != 10.0).all()


def test_epsilon_falls_on_a_straight_line() -> None:
    assert [falling(1.0, 0.2, share) for share in (0, 0.5, 1, 7)] == pytest.approx([1.0, 0.6, 0.2, 0.2])


def test_q_learning_goes_on_from_its_state_to_the_same_metrics() -> None:
    envs = counting_envs(3, programs=[counters("a=64"), counters("a=9 b=2"), counters("a=7")])
    config = TabularQConfig(steps=14, epsilon_steps=100)
    assert_goes_on_alike(lambda: TabularQ(envs, config=config, seed=3), 3, 3)


def test_what_cannot_be_configured_is_refused() -> None:
    with pytest.raises(InputError, match="trace_decay: expected a number from 0 to 1, not 2"):
        TabularQConfig(trace_decay=2)
