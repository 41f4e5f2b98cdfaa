"""What the environment does beyond the contract that every task is tested for."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import gymnasium
import pytest

from burnish.core.errors import IllegalAction, InputError, UnknownName
from burnish.envs.env import Env
from burnish.workers import child
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task
from tests.sources import DATA

ID = "burnish/LLVMPasses-v1"
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
    with pytest.raises(InputError, match="no program of this environment named 'x'"):
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


def test_several_observations_are_a_dict(nothing_left: None) -> None:
    names = ("order", "values", "text")
    env = Env(TASK, PROGRAMS, observation=names)
    observed, _ = env.reset()
    assert list(observed) == list(env.observation_space.spaces) == list(names)  # type: ignore[attr-defined]
    assert observed in env.observation_space
    observed, *_ = env.step(0)
    assert observed["values"].tolist() == [4, 0, 0, 0]
    assert observed["text"] == "a=4"
    assert observed in env.observation_space
    env.close()


def test_an_observation_in_a_list_is_a_dict_of_one() -> None:
    env = Env(TASK, PROGRAMS, observation=["values"], limits=None)
    assert env.reset()[0]["values"].tolist() == [8, 0, 0, 0]
    with pytest.raises(InputError, match="at least one observation"):
        Env(TASK, PROGRAMS, observation=[])


def test_several_observations_are_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Env(TASK, PROGRAMS[0], observation=tuple(TASK.observations), reward="over-halved", sites=2)
    env.reset()
    assert env.worker
    sent: list[list[str]] = []
    write = child.write_message

    def listen(descriptor: int, message: Any) -> None:
        sent.append([function.__name__ for function, *_ in message[1]])
        write(descriptor, message)

    monkeypatch.setattr(child, "write_message", listen)
    env.step(0)
    assert sent == [["step_session"]]
    env.reset()
    assert sent[1:] == [["close_session", "start_session"]]
    env.close()


def test_actions_can_be_some_of_the_tasks() -> None:
    env = Env(TASK, counters("a=8 b=3"), actions=["subtract(3)", "halve"], sites=2, limits=None)
    assert env.action_space == gymnasium.spaces.Discrete(6)
    _, info = env.reset()
    assert info["mask"].tolist() == [True, True, True, True, True, False]  # b is odd
    env.step(3)
    assert env.trace == ("a: halve",)
    env.step(4)
    assert env.trace == ("a: halve", "b: subtract(3)")
    assert env.action_masks().tolist() == [True, True, True, True, False, False]


def test_an_episode_ends_where_none_of_its_actions_is_legal() -> None:
    env = Env(TASK, counters("a=6"), actions=["halve"], limits=None, dense=False)
    env.reset()
    _, reward, terminated, truncated, info = env.step(0)
    assert (terminated, truncated) == (True, False)
    assert info["cost"] == 4
    assert reward == pytest.approx(math.log(7 / 4))


def test_unknown_or_repeated_actions_are_errors() -> None:
    with pytest.raises(UnknownName, match="did you mean 'halve'"):
        Env(TASK, PROGRAMS, actions=["halved"])
    for names in ([], ["halve", "halve"]):
        with pytest.raises(InputError, match="one or more, each only once"):
            Env(TASK, PROGRAMS, actions=names)


@pytest.mark.parametrize("limits", [Limits(), None])
def test_fork_goes_its_own_way(limits: Limits | None, nothing_left: None) -> None:
    env = Env(TASK, [counters("a=8"), counters("a=5")], limits=limits, max_steps=3)
    env.reset(seed=0)
    env.step(0)
    twin = env.fork()
    twin.step(1)
    assert (env.trace, twin.trace) == (("halve",), ("halve", "subtract(1)"))
    assert env.step(0)[1] == pytest.approx(math.log(5 / 3))
    *_, truncated, info = twin.step(1)
    assert truncated and info["cost"] == 3
    assert twin.reset()[1]["program"] == "a=5"
    assert env.trace == ("halve", "halve")
    assert env.reset()[1]["program"] == "a=5"
    twin.close()
    env.step(1)
    env.close()


def test_multistep_is_one_step_with_the_sum_of_the_rewards() -> None:
    env = Env(TASK, counters("a=8"), limits=None, max_steps=4)
    env.reset()
    observed, reward, terminated, truncated, _ = env.multistep([0, 0, 1])
    assert observed.tolist() == [1, 0, 0, 0]
    assert reward == pytest.approx(math.log(9 / 2))
    assert not (terminated or truncated)
    assert env.multistep([3])[3]
    env.reset()
    with pytest.raises(IllegalAction):
        env.multistep([0, 0, 0, 0, 0])
    assert env.trace == ("halve", "halve", "halve")
    with pytest.raises(InputError, match="at least one action"):
        env.multistep([])


def test_a_crash_in_a_multistep_ends_the_episode(nothing_left: None) -> None:
    task = failing_task(TASK, "segfault")
    env = Env(task, counters("a=8"))
    env.reset()
    _, reward, terminated, _, info = env.multistep([0, task.actions.index("segfault"), 0])
    assert (reward, terminated) == (-1.0, True)
    assert "SIGSEGV" in info["error"]
    assert env.trace == ("halve",)
    env.close()


def test_interrupted_steps_do_not_confuse_the_next(nothing_left: None) -> None:
    env = Env(TASK, PROGRAMS)
    env.reset()
    env.begin_step(0)  # as if Ctrl-C came before the answer
    assert env.trace == ()
    observed, *_ = env.step(1)
    assert observed.tolist() == [7, 0, 0, 0]
    env.begin_reset()
    assert env.reset()[1]["program"] == "a=5"
    env.close()


def test_masks_are_found_through_gymnasiums_wrappers_and_vectors() -> None:
    env = gymnasium.wrappers.TimeLimit(Env(TASK, PROGRAMS, limits=None), 3)
    env.reset()
    assert env.get_wrapper_attr("action_masks")().tolist() == [True] * 4
    for vector in (gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv):
        several = vector([partial(Env, TASK, item, limits=None) for item in PROGRAMS[:3]])
        _, infos = several.reset()
        expected = [[True] * 4, [True] * 4, [False, True, True, True]]
        assert infos["mask"].tolist() == expected
        assert [mask.tolist() for mask in several.call("action_masks")] == expected
        assert infos["cost"].tolist() == [9, 11, 6]
        several.close()


def test_costs_that_were_not_measured_are_no_numbers_in_a_vector() -> None:
    several = gymnasium.vector.SyncVectorEnv([lambda: Env(TASK, PROGRAMS, limits=None, dense=False)] * 2)
    several.reset()
    *_, infos = several.step([0, 0])
    assert "cost" not in infos


def test_a_task_without_a_command_says_so() -> None:
    env = Env(TASK, PROGRAMS, limits=None)
    env.reset()
    with pytest.raises(InputError, match="no compiler command reproduces a state"):
        env.commandline()
