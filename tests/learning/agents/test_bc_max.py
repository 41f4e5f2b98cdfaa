"""BC-Max: which decision is explored, how buckets are weighed, and that it imitates the best it has seen."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch

from burnish.core.errors import InputError
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.bc_max import BCMax, BCMaxConfig, bucket_weights, least_certain
from burnish.learning.agents.rollout import Episode
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls, optimum
from tests.learning.agents.problems import assert_goes_on_alike, small_policy

PROGRAM = calls("main 4: f g; f 2: h; g 6: h; h 5:")


def asking_envs(count: int = 1) -> VectorEnv:
    return VectorEnv(partial(Env, ASKING, PROGRAM, observation="question", limits=None), count)


def learner(**changes: float) -> BCMax:
    envs = asking_envs()
    config = BCMaxConfig(**{"explorations": 6, "learning_rate": 1e-2, **changes})  # type: ignore[arg-type]
    return BCMax(envs, partial(small_policy, 5, len(ASKING.actions)), config, seed=1)


def episode(gaps: list[float], seconds: list[int], actions: list[int]) -> Episode:
    notes = [np.array(pair, dtype=np.float64) for pair in zip(gaps, seconds, strict=True)]
    return Episode("p", [], [], actions, [0.0] * len(gaps), notes)


def test_the_least_certain_decision_is_the_other_one() -> None:
    played = episode([2.0, 0.5, 1.0], [1, 2, 0], [0, 1, 1])
    assert least_certain(played, []) == (0, 2)
    assert least_certain(played, [(0, 2)]) == (0, 1, 0)
    assert least_certain(played, [(0, 2), (0, 1, 0), (1,)]) is None
    assert least_certain(episode([math.inf], [1], [0]), []) is None


def test_buckets_of_large_losses_weigh_more() -> None:
    weights = bucket_weights(torch.tensor([0.5, 0.5]), torch.tensor([0.0, math.log(3)]), 1.0)
    assert weights.tolist() == pytest.approx([0.25, 0.75])
    assert bucket_weights(weights, torch.tensor([9.0, 1.0]), 0.0).tolist() == pytest.approx([0.25, 0.75])


def test_what_was_best_is_imitated() -> None:
    found = learner()
    metrics = [found.iterate() for _ in range(30)]
    (best,) = found.best.values()
    start = ASKING.open(PROGRAM).measure("size")
    assert best.value == pytest.approx(math.log(start / optimum(PROGRAM)))
    assert metrics[-1]["improvement"] >= metrics[0]["improvement"] >= 0
    for seen, mask, action in zip(best.observations, best.masks, best.actions, strict=True):
        assert found.policy.act([seen], mask[None]).item() == action


def test_it_goes_on_where_it_was() -> None:
    assert_goes_on_alike(learner, 2, 2)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="explorations"):
        BCMaxConfig(explorations=-1)
