from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.policy import Policy
from burnish.learning.agents.td import (
    TD,
    TDConfig,
    Tried,
    best_and_targets,
    ends,
    scores,
    try_all,
    value_targets,
)
from burnish.learning.networks.encoder import Encoder
from burnish.tasks.llvm_passes import TASK as LLVM
from tests.core.counting_task import ACTIONS, OPTIMUM, TASK, counters
from tests.core.failures import failing_task
from tests.learning.agents.problems import (
    PASSES,
    STEPS,
    assert_goes_on_alike,
    counting_envs,
    counting_policy,
    llvm_envs,
    llvm_optimum,
    play_greedily,
)
from tests.learning.agents.test_tabular import solution


class OneHot(Encoder):
    """The first numbers of a vector, each one of `kinds`: an entry of a table for each of them, in sum."""

    def __init__(self, count: int, kinds: int) -> None:
        super().__init__()
        self.count, self.kinds, self.width = count, kinds, 64
        self.layer = torch.nn.Linear(count * kinds, self.width)

    def collate(self, observations: Sequence[Any]) -> Tensor:
        return torch.as_tensor(np.stack(observations))[:, : self.count]

    def forward(self, batch: Tensor) -> Tensor:
        return torch.relu(self.layer(torch.nn.functional.one_hot(batch, self.kinds).flatten(1).float()))


def look_ahead_to_the_end(agent: TD) -> float:
    """Play an episode of the first environment by looking ahead; return the last cost."""
    env = agent.envs.envs[0]
    observed, info = env.reset(seed=0)
    over = False
    while not over:
        actions, _ = agent.choose([env], [observed], info["mask"][None])
        observed, _, terminated, truncated, info = env.step(int(actions[0]))
        over = terminated or truncated
    return env.cost


def test_what_is_tried_by_hand_and_the_environments_stay_as_they_are() -> None:
    envs = [Env(TASK, counters(text), max_steps=2, limits=None) for text in ("a=4", "a=1")]
    seen = [env.reset()[0] for env in envs]
    masks = np.stack([env.action_masks() for env in envs])
    tried = try_all(envs, seen, masks, [[0, 2, 3], [1, 3]])
    assert [state.observation is row for state, row in zip(tried, seen, strict=True)] == [True, True]
    assert [state.mask.tolist() for state in tried] == masks.tolist()
    assert [state.actions for state in tried] == [[0, 2, 3], [1, 3]]
    assert tried[0].rewards == pytest.approx([math.log(5 / 3), math.log(5 / 2), math.log(5 / 6)])
    assert [int(row[0]) for row in tried[0].following] == [2, 1, 5]
    assert [state.ongoing for state in tried] == [[True, True, True], [False, True]]  # nothing follows 0
    assert [int(row[0]) for row in ends(tried)] == [2, 1, 5, 2]
    values = np.array([10.0, 1.0, 1000.0, 10.0])
    worth, after = scores(tried, values, 0.5)
    assert [row.tolist() for row in after] == [[10, 1, 1000], [0, 10]]
    expected = [math.log(5 / 3) + 5, math.log(5 / 2) + 0.5, math.log(5 / 6) + 500]
    assert worth[0].tolist() == pytest.approx(expected)
    assert worth[1].tolist() == pytest.approx([math.log(2), math.log(2 / 3) + 5])
    assert [env.trace for env in envs] == [(), ()]


def test_at_the_step_limit_there_is_a_value_only_if_it_is_no_end() -> None:
    env = Env(TASK, counters("a=4"), max_steps=1, limits=None)
    seen, info = env.reset()
    for bootstrap in (True, False):
        (state,) = try_all([env], [seen], info["mask"][None], [[0, 1]], bootstrap=bootstrap)
        assert state.ongoing == [bootstrap, bootstrap]
    assert ends([state]) == []
    assert scores([state], np.zeros(0), 0.5)[1][0].tolist() == [0, 0]


def test_a_crash_in_a_look_ahead_is_a_bad_action_and_leaves_the_episode_alone() -> None:
    task = failing_task(TASK, "be-killed")
    envs = VectorEnv(partial(Env, task, counters("a=4")), 2)
    seen, infos = envs.reset()
    envs.envs[0].step(0)
    tried = try_all(envs.envs, seen, infos["mask"], [[0, 4, 1], [4, 0]])
    assert tried[0].rewards == pytest.approx([math.log(3 / 2), -1.0, math.log(3 / 2)])
    assert tried[0].ongoing == [True, False, True]
    assert tried[1].rewards == pytest.approx([-1.0, math.log(5 / 3)])
    assert envs.envs[0].step(0)[0].tolist() == [1, 0, 0, 0]
    envs.close()


def test_targets_by_hand() -> None:
    """After an action that is not the best, a state is worth what the best one is."""
    rewards, values, best = np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 30.0]), np.array([7.0, 8.0, 9.0])
    targets = partial(value_targets, rewards, values, best, discount=0.5)
    followed = np.zeros(3, dtype=bool)
    assert targets(followed, trace_decay=0.0).tolist() == [6.0, 12.0, 19.0]
    assert targets(followed, trace_decay=1.0).tolist() == [1 + 0.5 * (2 + 0.5 * 19), 2 + 0.5 * 19, 19.0]
    # 19, then 2 + (20 / 2 + 19 / 2) / 2, then 1 + (10 / 2 + 11.75 / 2) / 2
    assert targets(followed, trace_decay=0.5).tolist() == [6.4375, 11.75, 19.0]
    explored = np.array([False, True, False])
    assert targets(explored, trace_decay=0.5).tolist() == [1 + 0.5 * (5 + 4), 8.0, 19.0]


def test_best_actions_and_targets_by_hand() -> None:
    """The best was taken, then not, then again."""
    state = Tried(np.zeros(4), np.ones(4, dtype=bool), [3, 1], [1.0, 2.0], [True, True], [None, None])
    episode = [state._replace(taken=taken) for taken in (1, 0, 0)]
    worth = [np.array([5.0, 6.0]), np.array([7.0, 8.0]), np.array([9.0, 4.0])]
    after = [np.array([10.0, 20.0]), np.array([30.0, 40.0]), np.array([50.0, 60.0])]
    actions, targets = best_and_targets(episode, worth, after, discount=0.5, trace_decay=0.5)
    assert actions == [1, 1, 3]
    assert targets.tolist() == [2 + 0.5 * (0.5 * 20 + 0.5 * 8), 8.0, 1 + 0.5 * 50]


@pytest.mark.slow
def test_values_approach_those_of_dynamic_programming() -> None:
    envs = counting_envs(4, programs=[counters(f"a={n}") for n in range(1, 13)], max_steps=8)
    config = TDConfig(steps=32, epsilon_steps=2000, learning_rate=3e-3, capacity=500, minibatch=64)
    agent = TD(envs, lambda: Policy(OneHot(1, 30), ACTIONS), config, seed=0)
    for _ in range(15):
        agent.iterate()
    states = [np.array([n, 0, 0, 0]) for n in range(1, 13)]
    exact = np.nanmax(solution(agent.config.discount)[1:13], axis=1)
    assert agent._values(agent._batches(states)) == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("breadth", [pytest.param(None, marks=pytest.mark.slow), 2])
def test_td_finds_the_optimum_of_counting(breadth: int | None) -> None:
    """By looking ahead, and at once."""
    config = TDConfig(steps=28, breadth=breadth, epsilon_steps=500, learning_rate=3e-3)
    agent = TD(counting_envs(2), counting_policy, config, seed=0)
    for _ in range(12):
        metrics = agent.iterate()
    assert look_ahead_to_the_end(agent) == OPTIMUM
    assert play_greedily(agent.policy, agent.envs) == OPTIMUM
    assert metrics["agreement"] > 0.5
    assert metrics["tried"] <= (breadth + 1 if breadth else 4) * metrics["steps"]


@pytest.mark.slow
def test_td_finds_the_best_sequence_of_passes() -> None:
    """It is not what a look-ahead without values finds."""
    config = TDConfig(steps=6, discount=1.0, bootstrap=False, epsilon_steps=500, learning_rate=3e-3)
    envs = llvm_envs(4, observation="trace")  # of which every state has one of its own
    agent = TD(envs, lambda: Policy(OneHot(STEPS, len(LLVM.actions) + 1), PASSES), config, seed=0)
    learned = agent._values
    agent._values = lambda batches: np.zeros(sum(map(len, batches)))  # type: ignore[method-assign]
    assert look_ahead_to_the_end(agent) > llvm_optimum()
    agent._values = learned  # type: ignore[method-assign]
    for _ in range(30):
        agent.iterate()
    assert look_ahead_to_the_end(agent) == llvm_optimum()
    assert play_greedily(agent.policy, agent.envs) == llvm_optimum()


def test_td_goes_on_from_its_state_to_the_same_metrics() -> None:
    envs = counting_envs(3, programs=[counters("a=64"), counters("a=9 b=2"), counters("a=7")])
    config = TDConfig(steps=7, minibatch=16, epsilon_steps=100, breadth=3, capacity=60)
    assert_goes_on_alike(lambda: TD(envs, counting_policy, config, seed=3), 3, 3)
