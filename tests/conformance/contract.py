"""burnish.check_task as tests, one a check, and random episodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.program import Program
from burnish.core.task import Task
from burnish.envs.contract import CHECKS, Case
from burnish.envs.env import Env
from burnish.envs.walks import NEAR, snapshot


class ContractClaims:
    """A subclass names a task, and two or more small programs with different costs."""

    tested: ClassVar[Task]
    examples: ClassVar[Sequence[Program]]
    steps = 8  # of a random walk
    noise = 0.0  # of a noisy objective: the relative difference of two measurements of one state

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls) -> Task:
        return cls.tested

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        return cls.examples

    @pytest.fixture(scope="class")
    @classmethod
    def shared_env(cls, task: Task, programs: Sequence[Program]) -> Iterator[Env]:
        env = Env(task, programs, sites=NEAR, dense=True)
        yield env
        env.close()

    @pytest.mark.parametrize("check", CHECKS)
    def test_contract(self, task: Task, programs: Sequence[Program], check: str, nothing_left: None) -> None:
        if reason := CHECKS[check](Case(task, programs, self.steps, self.noise)):
            pytest.skip(reason)

    @settings(max_examples=8)
    @given(turn=st.integers(0, 1), choices=st.lists(st.integers(0, 10**6), max_size=8))
    def test_any_episode_holds_its_promises(
        self, task: Task, programs: Sequence[Program], shared_env: Env, turn: int, choices: list[int]
    ) -> None:
        env = shared_env
        observed, info = env.reset(options={"program": programs[turn]})
        cost = info["cost"]
        assert info["mask"].any()
        for choice in choices:
            assert observed in env.observation_space
            assert gymnasium.spaces.Discrete(len(info["mask"])) == env.action_space
            assert (info["mask"] == env.action_masks()).all()
            legal = np.flatnonzero(info["mask"])
            observed, reward, terminated, truncated, info = env.step(legal[choice % len(legal)])
            if not info.get("error"):
                assert math.isclose(reward, math.log(cost / info["cost"]), abs_tol=1e-12)
                cost = info["cost"]
            if terminated or truncated:
                break
        again = task.open(programs[turn])
        again.replay(env.trace)
        assert snapshot(task, again) == snapshot(task, env.session)
