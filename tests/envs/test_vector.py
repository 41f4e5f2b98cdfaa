"""Many environments at a time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from burnish.core.errors import IllegalAction, InputError
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.workers.worker import Limits
from tests.conftest import children
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task
from tests.walks import assert_same

PROGRAMS = [counters("a=8"), counters("a=6 b=4"), counters("a=5 c=1000 d=77"), counters("a=3")]
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


@pytest.fixture
def vector(nothing_left: None) -> Iterator[Callable[..., VectorEnv]]:
    """Return a function that makes a vector of environments of its keywords; it is closed at the end."""
    made: list[VectorEnv] = []

    def make(num_envs: int = 3, mode: AutoresetMode = AutoresetMode.NEXT_STEP, **options: Any) -> VectorEnv:
        chosen: dict[str, Any] = {"task": TASK, "programs": PROGRAMS}
        made.append(VectorEnv(partial(Env, **(chosen | options)), num_envs, mode))
        return made[-1]

    yield make
    for several in made:
        several.close()
    made.clear()


def draw(masks: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Choose a legal action in each environment; any where there is none."""
    return np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])


def history(several: Any, steps: int) -> list[Any]:
    """Return all that a vector of environments says in a seeded walk."""
    rng = np.random.default_rng(0)
    observed, infos = several.reset(seed=7)
    seen = [(observed, infos)]
    for _ in range(steps):
        seen.append(several.step(draw(np.stack(several.call("action_masks")), rng)))
    return seen


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("observation", ["values", "order", "text", ("shares", "digits")])
def test_it_does_what_gymnasiums_own_does(
    vector: Callable[..., VectorEnv], mode: AutoresetMode, observation: Any
) -> None:
    options = {"observation": observation, "max_steps": 5, "order": "sample", "sites": 1}
    ours = vector(3, mode, **options)
    single = partial(Env, TASK, PROGRAMS, limits=None, **options)
    theirs = SyncVectorEnv([single] * 3, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    for one, other in zip(history(ours, 30), history(theirs, 30), strict=True):
        assert_same(one, other)


def test_finished_ones_wait_where_they_do_not_begin_again(vector: Callable[..., VectorEnv]) -> None:
    several = vector(2, AutoresetMode.DISABLED, max_steps=1)
    several.reset(seed=0)
    several.step([1, 1])
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
        several.step([1, 1])
    several.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(gymnasium.error.ResetNeeded):
        several.step([1, 1])
    several.reset(options={"reset_mask": np.array([False, True])})
    several.step([1, 1])


def test_programs_are_shared_out(vector: Callable[..., VectorEnv]) -> None:
    several = vector(2, max_steps=1)
    names = [several.reset()[1]["program"].tolist()]
    several.step(draw(several.action_masks(), np.random.default_rng(0)))
    names.append(several.step([0, 0])[-1]["program"].tolist())
    assert names == [["a=8", "a=6 b=4"], ["a=5 c=1000 d=77", "a=3"]]


def test_masks_are_those_of_the_environments(vector: Callable[..., VectorEnv]) -> None:
    several = vector(4)
    _, infos = several.reset(seed=0)
    assert infos["mask"].tolist() == several.action_masks().tolist()
    assert several.action_masks().tolist() == [[True] * 4] * 3 + [[False, True, True, True]]
    assert infos["cost"].tolist() == [9, 11, 1083, 4]


def test_an_illegal_action_changes_nothing_anywhere(vector: Callable[..., VectorEnv]) -> None:
    several = vector(2, programs=[counters("a=8"), counters("a=5")])
    several.reset(seed=0)
    halve = TASK.actions.index("halve")
    for bad in (halve, 99, -1):
        with pytest.raises(IllegalAction):
            several.step([halve, bad])
    assert several.get_attr("trace") == ((), ())
    several.step([halve, TASK.actions.index("add(1)")])
    assert several.get_attr("trace") == (("halve",), ("add(1)",))


@pytest.mark.parametrize("mode", MODES)
def test_a_crash_ends_one_episode(vector: Callable[..., VectorEnv], mode: AutoresetMode) -> None:
    task = failing_task(TASK, "segfault")
    several = vector(3, mode, task=task, failure_reward=-2.0)
    several.reset(seed=0)
    crash = task.actions.index("segfault")
    _, rewards, terminated, truncated, infos = several.step([1, crash, 1])
    assert rewards[1] == -2.0 and (rewards[[0, 2]] > 0).all()
    assert terminated.tolist() == [False, True, False] and not truncated.any()
    errors = infos["final_info"]["error"] if mode == AutoresetMode.SAME_STEP else infos["error"]
    assert "SIGSEGV" in errors[1] and errors[0] is None
    if mode == AutoresetMode.NEXT_STEP:
        _, rewards, terminated, _, infos = several.step([1, crash, 1])
        assert rewards[1] == 0 and not terminated.any()
    assert several.action_masks().any(axis=1).all()
    several.step([1, 1, 1])


def test_a_killed_worker_costs_one_episode(vector: Callable[..., VectorEnv]) -> None:
    several = vector(2)
    several.reset(seed=0)
    os.kill(several.envs[0].session.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    _, _, terminated, _, infos = several.step([1, 1])
    assert terminated.tolist() == [True, False]
    assert "SIGKILL" in infos["error"][0]
    _, _, terminated, _, _ = several.step([0, 1])
    assert not terminated.any()


def test_there_is_one_process_for_each(vector: Callable[..., VectorEnv]) -> None:
    before = children()
    several = vector(3)
    several.reset(seed=0)
    assert len(children() - before) == 3


def test_an_interrupted_step_does_not_confuse_the_next(vector: Callable[..., VectorEnv]) -> None:
    several = vector(2)
    several.reset(seed=0)
    several.envs[0].begin_step(1)  # as if Ctrl-C came before the answer
    several.step([1, 1])
    assert several.get_attr("trace") == (("subtract(1)",), ("subtract(1)",))


def test_gymnasiums_wrappers_fit(vector: Callable[..., VectorEnv]) -> None:
    several = gymnasium.wrappers.vector.RecordEpisodeStatistics(vector(2, max_steps=2))
    several.reset(seed=0)
    infos: dict[str, Any] = {}
    for _ in range(2):
        *_, infos = several.step([1, 1])
    assert infos["episode"]["l"].tolist() == [2, 2]
    assert infos["episode"]["r"] == pytest.approx(np.log([9 / 7, 11 / 7]), abs=1e-6)


def test_what_cannot_be_a_vector_is_refused() -> None:
    with pytest.raises(InputError, match="2 functions for 3"):
        VectorEnv([partial(Env, TASK, PROGRAMS)] * 2, 3)
    with pytest.raises(InputError, match="same observations"):
        VectorEnv([partial(Env, TASK, PROGRAMS), partial(Env, TASK, PROGRAMS, sites=1)])


@pytest.mark.parametrize("limits", [Limits(), None])
def test_each_goes_on_when_it_is_ready(vector: Callable[..., VectorEnv], limits: Limits | None) -> None:
    several = vector(3, max_steps=3, order="sample", limits=limits)
    single = [Env(TASK, PROGRAMS, max_steps=3, order="sample", limits=None) for _ in range(3)]
    several.reset(seed=0)
    lasts = [env.reset(seed=i) for i, env in enumerate(single)]
    over, made = [False] * 3, [0] * 3
    subtract = TASK.actions.index("subtract(1)")
    for i in range(3):
        several.send(i, subtract)
    while min(made) < 9:
        for i, step in several.ready():
            if over[i]:
                observed, info = single[i].reset()
                expected: Any = (observed, 0.0, False, False, info)
            else:
                expected = single[i].step(subtract)
            assert_same(step, expected)
            over[i] = step[2] or step[3]
            made[i] += 1
            several.send(i, subtract)
    assert lasts
    several.reset()


def test_a_hang_does_not_hold_up_the_others(vector: Callable[..., VectorEnv]) -> None:
    task = failing_task(TASK, "hang")
    several = vector(
        2, task=task, limits=Limits(deadline_seconds=2.0), programs=counters("a=900"), max_steps=10**6
    )
    several.reset(seed=0)
    several.send(0, task.actions.index("hang"))
    several.send(1, 1)
    steps = 0
    late: Any = None
    while late is None:
        for i, step in several.ready():
            if i == 0:
                late = step
            else:
                steps += 1
                several.send(1, TASK.actions.index("add(1)" if steps % 2 else "subtract(1)"))
    assert steps > 10
    assert "no answer within 2 seconds" in late[-1]["error"]
