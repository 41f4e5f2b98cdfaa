"""What the environment does beyond the contract that every task is tested for."""

from __future__ import annotations

import gymnasium
import pytest

from burnish.core.env import Env
from burnish.core.errors import InputError, UnknownName
from tests.core.counting_task import TASK, counters
from tests.sources import DATA

ID = "burnish/LLVMPasses-v0"
PROGRAMS = [counters("a=8"), counters("a=6 b=4"), counters("a=5")]


def test_programs_take_turns() -> None:
    env = Env(TASK, PROGRAMS, limits=None)
    names = [env.reset()[1]["program"] for _ in range(4)]
    assert names == ["a=8", "a=6 b=4", "a=5", "a=8"]


def test_seeds_in_a_row_begin_with_different_programs() -> None:
    env = Env(TASK, PROGRAMS, limits=None)
    assert [env.reset(seed=seed)[1]["program"] for seed in range(4)] == ["a=8", "a=6 b=4", "a=5", "a=8"]
    env.reset(seed=1)
    assert env.reset()[1]["program"] == "a=5"


def test_program_can_be_chosen_by_name_or_given() -> None:
    env = Env(TASK, PROGRAMS, limits=None)
    assert env.reset(options={"program": "a=5"})[1]["program"] == "a=5"
    assert env.reset(options={"program": counters("z=3")})[1]["cost"] == 4
    with pytest.raises(InputError, match="no program named 'x'"):
        env.reset(options={"program": "x"})


def test_sites_follow_the_whole_program_in_the_action_space() -> None:
    env = Env(TASK, PROGRAMS[1], sites=2, limits=None)
    env.reset()
    n = len(TASK.actions)
    assert env.action_space == gymnasium.spaces.Discrete(3 * n)
    env.step(n + TASK.actions.index("halve"))
    env.step(2 * n + TASK.actions.index("subtract(1)"))
    assert env.trace == ("a: halve", "b: subtract(1)")


def test_render_shows_cost_and_trace() -> None:
    env = Env(TASK, PROGRAMS[0], limits=None, render_mode="ansi")
    env.reset()
    env.step(0)
    assert env.render() == "a=4  5 units\nhalve"


def test_step_before_reset_is_refused() -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        Env(TASK, PROGRAMS[0], limits=None).step(0)


def test_wrong_arguments_are_input_errors() -> None:
    with pytest.raises(InputError, match="at least one program"):
        Env(TASK, [])
    with pytest.raises(UnknownName, match="did you mean 'total'"):
        Env(TASK, PROGRAMS, objective="totals")
    with pytest.raises(UnknownName, match="did you mean 'values'"):
        Env(TASK, PROGRAMS, observation="value")


@pytest.mark.usefixtures("nothing_left")
def test_gymnasium_makes_the_environment() -> None:
    env = gymnasium.make(f"burnish.envs:{ID}", programs=DATA / "matrix.c", observation="autophase")
    observed, info = env.reset(seed=0)
    assert observed.shape == (56,)
    assert info["mask"].all()
    env.close()


@pytest.mark.usefixtures("nothing_left")
def test_environments_run_side_by_side() -> None:
    several = gymnasium.vector.SyncVectorEnv([lambda: Env(TASK, PROGRAMS) for _ in range(3)])
    observed, info = several.reset(seed=0)
    assert observed[:, 0].tolist() == [8, 6, 5]
    assert info["cost"].tolist() == [9, 11, 6]
    several.close()
