"""The contract has no special cases for LLVM."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from burnish.core.program import Program
from burnish.core.task import SearchHints
from burnish.core.trace import WHOLE_PROGRAM
from burnish.envs.env import Env
from tests.conformance import TaskConformance
from tests.conformance.contract import ContractClaims
from tests.core.counting_task import OPTIMUM, TASK, CountingSession, counters, open_halved


class TestCounting(TaskConformance):
    tested = TASK
    examples = (counters("a=640 b=77"), counters("a=1000 b=1000 c=512 d=999"))


class NoisyCounting(CountingSession):
    """Every measurement is up to 5 % too much."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._reopen = partial(NoisyCounting, program)
        self._rng = np.random.default_rng()

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        return super().cost(objective, site) * self._rng.uniform(1, 1.05)


class TestNoisy(ContractClaims):
    """Where costs are measured, what is claimed of them holds within a tolerance."""

    noise = 0.05
    tested = replace(
        TASK,
        objectives={name: replace(one, noisy=True) for name, one in TASK.objectives.items()},
        open=NoisyCounting,
        baselines={"start": NoisyCounting, "halved": open_halved},
        hints=SearchHints(()),
    )
    examples = TestCounting.examples


def test_episode_ends_where_nothing_is_legal() -> None:
    env = Env(TASK, counters("a=4"), limits=None)
    _, info = env.reset()
    total = 0.0
    for action in ("halve", "halve", "subtract(1)"):
        _, reward, terminated, truncated, info = env.step(TASK.actions.index(action))
        total += reward
    assert (terminated, truncated) == (True, False)
    assert info["cost"] == OPTIMUM
    assert not info["mask"].any()


def test_sparse_reward_is_paid_when_nothing_is_legal() -> None:
    env = Env(TASK, counters("a=1"), limits=None, objective="largest")
    env.reset()
    _, reward, terminated, _, info = env.step(TASK.actions.index("subtract(1)"))
    assert terminated
    assert reward > 0
    assert info["cost"] == OPTIMUM


def test_vanished_site_is_masked() -> None:
    env = Env(TASK, counters("a=8 b=1"), limits=None, sites=2)
    env.reset()
    n = len(TASK.actions)
    _, _, terminated, _, info = env.step(2 * n + TASK.actions.index("subtract(1)"))
    assert env.trace == ("b: subtract(1)",)
    assert not terminated
    assert info["mask"][: 2 * n].any() and not info["mask"][2 * n :].any()
