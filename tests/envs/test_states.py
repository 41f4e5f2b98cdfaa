"""States of episodes as values, copies of environments, and rewards at will."""

from __future__ import annotations

import copy
import json
import math
import pickle
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

from burnish.core.errors import InputError, ReplayError, UnknownName
from burnish.envs import make
from burnish.envs.env import Env
from burnish.envs.state import EnvState
from burnish.envs.vector import VectorEnv
from burnish.tasks.llvm_passes import TASK as LLVM
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task
from tests.sources import program

PROGRAMS = [counters("a=8"), counters("a=6 b=4"), counters("a=5")]
HALVE, SUBTRACT = TASK.actions.index("halve"), TASK.actions.index("subtract(1)")


def played(*actions: int, **options: object) -> Env:
    env = Env(TASK, PROGRAMS, limits=None, **options)  # type: ignore[arg-type]
    env.reset(seed=1)
    for action in actions:
        env.step(action)
    return env


def test_a_state_says_where_the_episode_is() -> None:
    state = played(HALVE, HALVE).state
    assert (state.task, state.program, state.trace) == (TASK.id, "a=6 b=4", ("halve", "halve"))
    assert (state.objective, state.cost, state.state) == ("total", 5.0, "a=3 b=1")
    assert EnvState.from_json(state.to_json()) == state
    assert json.loads(state.to_json())["trace"] == ["halve", "halve"]


def test_a_restored_state_has_its_steps_and_its_cost() -> None:
    env = played(max_steps=3)
    observed, info = env.restore(played(HALVE, HALVE).state)
    assert (list(observed), info["cost"], info["program"]) == ([3, 1, 0, 0], 5.0, "a=6 b=4")
    assert env.step(SUBTRACT)[3]  # the third step
    assert env.reset()[1]["program"] == "a=5"  # a restored program is not a turn


def test_a_state_is_restored_in_another_process() -> None:
    with closing(make("llvm_passes", program("matrix.c"), sites=2)) as env:
        env.reset()
        env.step(len(LLVM.actions) + LLVM.actions.index("gvn"))
        line = env.state.to_json()
    code = (
        "import sys\nfrom burnish.envs import make\nfrom burnish.envs.state import EnvState\n"
        "from tests.sources import program\n"
        "env = make('llvm_passes', program('matrix.c'))\n"
        "env.restore(EnvState.from_json(sys.argv[1]))\nprint(env.state.to_json())\nenv.close()\n"
    )
    found = subprocess.run([sys.executable, "-c", code, line], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == line


def test_a_state_of_another_program_or_task_is_refused() -> None:
    env, state = played(), played(HALVE).state
    for other, message in (
        (replace(state, task="other-v1"), "the task other-v1; expected"),
        (replace(state, options={"level": "O1"}), "the settings {'level': 'O1'}"),
        (replace(state, digest="0" * 64), "the program a=6 b=4"),
    ):
        with pytest.raises(InputError, match=message):
            env.restore(other)
    with pytest.raises(InputError, match="expected an EnvState"):
        env.reset(options={"state": state.to_json()})
    with pytest.raises(InputError, match="a state of an environment"):
        EnvState.from_json("{}")


@pytest.mark.parametrize("entry", ["nothing", "b: subtract(3)", "z: halve"])
def test_a_trace_that_does_not_apply_is_said(entry: str) -> None:
    state = replace(played(HALVE, HALVE).state, trace=("halve", "halve", entry))
    with pytest.raises(ReplayError, match="a=6 b=4: the state is not reached"):
        played().restore(state)


def test_another_state_after_the_trace_is_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    played().restore(replace(played(HALVE).state, state="a=9"))
    assert any("the trace leads to another state" in str(one.message) for one in recwarn)


def test_copies_have_the_programs_in_the_same_order() -> None:
    env = played(HALVE, order="shuffle")
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = [env.reset()[1]["program"] for _ in range(7)]
    for twin in copies:
        assert twin.trace == ("halve",)
        assert [twin.reset()[1]["program"] for _ in range(7)] == expected


def test_copies_before_and_after_an_episode() -> None:
    fresh = pickle.loads(pickle.dumps(Env(TASK, PROGRAMS, limits=None)))
    assert fresh.reset()[1]["program"] == "a=8"
    crashing = Env(failing_task(TASK, "be-killed"), [counters("a=8")])
    with closing(crashing):
        crashing.reset()
        crashing.step(len(TASK.actions))
        with closing(pickle.loads(pickle.dumps(crashing))) as twin:
            assert twin.reset()[1]["program"] == "a=8"


def test_reward_at_will_is_the_return_so_far() -> None:
    env = played(HALVE, HALVE)  # from 11 units to 5
    assert env.reward() == pytest.approx(math.log(11 / 5))
    assert env.reward("difference") == 6
    assert env.reward("over-start") == pytest.approx(6 / 11)
    assert env.reward("difference", "largest") == 3
    assert env.reward(lambda before, after: before + after) == 16
    with pytest.raises(UnknownName, match="did you mean 'difference'"):
        env.reward("differenc")


def test_observe_any_observation_at_will() -> None:
    env = played(HALVE)
    assert env.observe("text") == "a=3 b=2"
    assert env.observe("order").nodes.tolist() == [[0, 1], [1, 3], [1, 2]]
    with pytest.raises(UnknownName, match="did you mean 'text'"):
        env.observe("texts")


def test_a_function_is_a_reward() -> None:
    def saved(before: float, after: float) -> float:
        return 2 * (before - after)

    env = played(reward=saved)
    assert env.step(HALVE)[1] == 2 * (11 - 6)
    with pytest.raises(InputError, match=r"returned 'much'; expected a number"):
        played(reward=lambda before, after: "much").step(HALVE)
    with pytest.raises(InputError, match="expected a function: lambda before, after"):
        Env(TASK, PROGRAMS, reward=lambda cost: cost)  # type: ignore[arg-type, misc]


def test_reset_changes_the_reward_from_then_on() -> None:
    env = played()
    assert env.reset(options={"reward": "over-halved"})[1]["baselines"].keys() == {"start", "halved"}
    assert env.reset(options={"program": "a=8", "reward": "difference"})[1].get("baselines") is None
    assert env.step(HALVE)[1] == 4
    assert pickle.loads(pickle.dumps(env)).step(HALVE)[1] == 2
    env.reset(options={"program": "a=8"})
    assert env.step(HALVE)[1] == 4
    with closing(VectorEnv(lambda: Env(TASK, PROGRAMS, limits=None), 2)) as several:
        several.reset(options={"program": "a=8", "reward": "difference"})
        assert several.step([HALVE, HALVE])[1].tolist() == [4, 4]
