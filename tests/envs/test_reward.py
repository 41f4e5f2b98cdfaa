"""Rewards are transformations of two costs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from burnish.core.errors import CompilerCrash, CompilerMemory, CompilerTimeout, UnknownName
from burnish.envs.env import Env
from burnish.envs.reward import failure_rewards, reward_of, rewards
from burnish.envs.walks import play
from burnish.tasks.llvm_passes import TASK as LLVM
from tests.core.counting_task import TASK, counters
from tests.sources import program

FORMS = ["log", "difference", "over-start", "over-halved"]


def test_every_task_has_the_forms_that_its_baselines_give() -> None:
    assert list(rewards(TASK)) == FORMS
    assert list(rewards(LLVM)) == [
        "log",
        "difference",
        *("over-O0", "over-O1", "over-O2", "over-O3", "over-Os", "over-Oz"),
    ]


def test_forms_by_hand() -> None:
    """200 instructions unoptimized, 120 under the baseline; a step from 180 to 160."""
    log, difference, over_start, over_halved = (reward_of(TASK, name) for name in FORMS)
    assert log.of(180, 160, log.unit([])) == pytest.approx(math.log(180 / 160))
    assert difference.of(180, 160, difference.unit([])) == 20
    assert over_start.of(180, 160, over_start.unit([200])) == pytest.approx(0.1)
    assert over_halved.of(180, 160, over_halved.unit([200, 120])) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("unoptimized", "baseline", "unit"),
    [
        (200, 120, 80),
        (200, 199, 1),
        (200, 200, 1),  # CompilerGym's max(gain, 1)
        (200, 250, 1),
        (0.5, 0.3, 0.2),  # seconds
        (0.5, 0.5, 0.005),
        (0.5, 0.6, 0.005),
    ],
)
def test_a_baseline_that_gains_nothing_does_not_divide_by_nothing(
    unoptimized: float, baseline: float, unit: float
) -> None:
    assert reward_of(TASK, "over-halved").unit([unoptimized, baseline]) == pytest.approx(unit)


class Unschedulable(CompilerTimeout):
    """A failure that only one task has."""


def test_a_failure_costs_what_the_nearest_class_costs() -> None:
    reward = failure_rewards({"CompilerCrash": -5, "CompilerTimeout": -20, "Unschedulable": -2})
    assert [reward(kind("")) for kind in (CompilerCrash, CompilerMemory)] == [-5, -5]
    assert [reward(kind("")) for kind in (CompilerTimeout, Unschedulable)] == [-20, -2]
    assert failure_rewards({"CompilerTimeout": -20})(Unschedulable("")) == -20
    assert failure_rewards({"CompilerTimeout": -20})(CompilerMemory("")) == -1
    assert failure_rewards(-3)(Unschedulable("")) == -3


def test_a_failure_that_there_is_not_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'CompilerTimeout'"):
        failure_rewards({"Timeout": -20})


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_telescopes(name: str, dense: bool) -> None:
    env = Env(TASK, counters("a=640 b=77"), limits=None, reward=name, dense=dense, max_steps=12)
    for seed in range(5):
        _, info = env.reset()
        start = info["cost"]
        rewards_seen = [reward for _, reward, _ in play(env, np.random.default_rng(seed))]
        form = reward_of(TASK, name)
        unit = form.unit([{"start": 718.0, "halved": 83.0}[item] for item in form.baselines])
        assert sum(rewards_seen) == pytest.approx(form.of(start, env.cost, unit), abs=1e-9)
        assert dense or not any(rewards_seen[:-1])


def test_what_the_baseline_does_returns_one() -> None:
    """640 halves to 5 in seven steps, 77 to nothing: as far as "halved" goes."""
    env = Env(TASK, counters("a=640 b=77"), limits=None, reward="over-halved", sites=2)
    env.reset()
    halve_largest = len(TASK.actions) + TASK.actions.index("halve")
    total = 0.0
    for _ in range(3):  # from 640 to 80; its site stays the first
        total += env.step(halve_largest)[1]
    assert total == pytest.approx((640 - 80) / (718 - 83))


@pytest.mark.usefixtures("nothing_left")
def test_over_oz_is_one_where_the_action_is_clangs_oz() -> None:
    env = Env(LLVM, program("matrix.c"), reward="over-Oz", objective="ir-instructions")
    _, info = env.reset()
    assert list(info["baselines"]) == ["O0", "Oz"]
    _, reward, *_, info = env.step(LLVM.actions.index("clang<Oz>"))
    unoptimized, oz = env.reset()[1]["baselines"].values()
    assert info["cost"] == oz
    assert reward == pytest.approx((env.cost - oz) / (unoptimized - oz))
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_baselines_are_measured_once_for_a_program() -> None:
    env = Env(TASK, [counters("a=640 b=77"), counters("a=9")], reward="over-halved", baselines=["start"])
    costs = [env.reset()[1]["baselines"] for _ in range(4)]
    assert costs == [{"start": 718, "halved": 83}, {"start": 10, "halved": 10}] * 2
    assert len(env._opened._kept.costs) == 2
    env.close()


def test_unknown_rewards_are_errors() -> None:
    with pytest.raises(UnknownName, match="did you mean 'over-halved'"):
        Env(TASK, counters("a=1"), reward="over-halve")
    with pytest.raises(UnknownName, match="did you mean 'halved'"):
        Env(TASK, counters("a=1"), baselines=["halve"])
