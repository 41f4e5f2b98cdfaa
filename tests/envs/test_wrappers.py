"""Wrappers: undo, and an action that ends the episode."""

from __future__ import annotations

import math
from contextlib import closing

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from burnish.core.errors import InputError
from burnish.envs.env import Env
from burnish.envs.wrappers import ForkOnStep, TerminalAction
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task

HALVE, SUBTRACT = TASK.actions.index("halve"), TASK.actions.index("subtract(1)")
pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.mark.parametrize("separate", [False, True])
def test_undo_returns_to_each_earlier_state(separate: bool) -> None:
    inner = Env(TASK, counters("a=8")) if separate else Env(TASK, counters("a=8"), limits=None)
    with closing(ForkOnStep(inner)) as env:
        for _ in range(2):  # a second episode is as the first
            env.reset()
            assert [env.step(action)[4]["cost"] for action in (HALVE, SUBTRACT, SUBTRACT)] == [5, 4, 3]
            assert env.undo().trace == ("halve", "subtract(1)")
            assert env.step(TASK.actions.index("subtract(3)"))[4]["cost"] == 1
            assert [env.undo().trace for _ in range(3)] == [("halve", "subtract(1)"), ("halve",), ()]
            with pytest.raises(InputError, match="no step is left"):
                env.undo()
        env.step(HALVE)


def test_a_crash_can_be_undone() -> None:
    with closing(ForkOnStep(Env(failing_task(TASK, "be-killed"), counters("a=8")))) as env:
        env.reset()
        env.step(HALVE)
        assert env.step(len(TASK.actions))[2]
        assert env.undo().trace == ("halve",)
        assert env.step(HALVE)[4]["cost"] == 3


def test_forks_need_the_environment_itself() -> None:
    with pytest.raises(InputError, match=r"expected a burnish\.envs\.env\.Env"):
        ForkOnStep(gymnasium.wrappers.TimeLimit(Env(TASK, counters("a=8"), limits=None), 3))


def test_the_terminal_action_ends_and_changes_nothing() -> None:
    env = TerminalAction(Env(TASK, counters("a=8"), limits=None))
    assert env.reset()[1]["mask"].tolist() == [*env.unwrapped.action_masks(), True]  # type: ignore[attr-defined]
    assert env.step(HALVE)[1] == pytest.approx(math.log(9 / 5))
    observed, reward, terminated, truncated, info = env.step(env.end)
    assert (list(observed), reward, terminated, truncated) == ([4, 0, 0, 0], 0.0, True, False)
    assert info["cost"] == 5
    assert env.action_masks().tolist() == info["mask"].tolist() == [False] * len(TASK.actions) + [True]


def test_the_terminal_action_pays_an_episode_that_is_paid_at_its_end(tmp_path: object) -> None:
    env = TerminalAction(Env(TASK, counters("a=8"), limits=None, dense=False))
    env.reset()
    assert env.step(HALVE)[1] == 0
    assert env.step(env.end)[1] == pytest.approx(math.log(9 / 5))


def test_gymnasium_accepts_the_terminal_action() -> None:
    class AnyAction(gymnasium.ActionWrapper):
        def action(self, action: int) -> int:
            legal = np.flatnonzero(env.action_masks())
            return int(legal[action % len(legal)])

    env = TerminalAction(Env(TASK, counters("a=8"), limits=None))
    check_env(AnyAction(env), skip_render_check=True)
