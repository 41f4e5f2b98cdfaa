"""Episodes of many environments, and what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.rollout import EarlyEnd, Episode, draw, play, summary
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task

LARGE = [counters("a=1000"), counters("a=999 b=7")]
PROGRAMS = [counters(text) for text in ("a=2", "a=9 b=4", "a=1000", "a=3", "a=1")]


def envs(count: int, **options: Any) -> VectorEnv:
    chosen: dict[str, Any] = {"task": TASK, "programs": PROGRAMS, "max_steps": 5}
    return VectorEnv(partial(Env, **(chosen | options)), count)


class Choosing:
    """Choose by a generator of each environment, note its number and what is legal; keep who was together."""

    def __init__(self, count: int) -> None:
        self.rngs = [np.random.default_rng(i) for i in range(count)]
        self.together: list[tuple[int, ...]] = []

    def __call__(self, numbers: Sequence[int], observations: list[Any], masks: Any) -> Any:
        self.together.append(tuple(numbers))
        assert len(observations) == len(masks) == len(numbers)
        actions = [self.rngs[i].choice(np.flatnonzero(m)) for i, m in zip(numbers, masks, strict=True)]
        return np.array(actions), np.array([[i, m.sum()] for i, m in zip(numbers, masks, strict=True)])


def played(
    count: int, *, together: int = 1, steps: int = 12, **options: Any
) -> tuple[list[Episode], Choosing]:
    several = envs(count, **options)
    choosing = Choosing(count)
    try:
        return play(several, choosing, steps=steps, seed=1, together=together), choosing
    finally:
        several.close()


def contents(episodes: Sequence[Episode]) -> list[Any]:
    return [
        (
            e.program,
            np.array(e.observations).tolist(),
            np.array(e.masks).tolist(),
            e.actions,
            e.rewards,
            np.array(e.notes).tolist(),
            e.terminated,
            e.truncated,
        )
        for e in episodes
    ]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("limits", [Limits(), None])
@pytest.mark.parametrize("together", [1, 2, 3, 9])
def test_what_is_played_does_not_depend_on_who_acts_together(limits: Limits | None, together: int) -> None:
    expected, _ = played(3, limits=None)
    found, choosing = played(3, limits=limits, together=together)
    assert contents(found) == contents(expected)
    assert max(map(len, choosing.together)) == min(together, 3)


def test_an_episode_is_what_the_environment_does_alone() -> None:
    found, _ = played(2, limits=None)
    assert [e.program for e in found[:2]] == ["a=9 b=4", "a=3"]
    env = Env(TASK, PROGRAMS, max_steps=5, limits=None)
    for episode in found:
        observed, info = env.reset(options={"program": episode.program})
        for t, action in enumerate(episode.actions):
            assert episode.observations[t].tolist() == observed.tolist()
            assert episode.masks[t].tolist() == info["mask"].tolist()
            assert episode.notes[t][1] == info["mask"].sum()
            observed, reward, terminated, truncated, info = env.step(action)
            assert reward == episode.rewards[t]
        assert episode.observations[-1].tolist() == observed.tolist()
        assert (episode.terminated, episode.truncated) == (terminated, truncated)


def test_episodes_are_whole_and_enough() -> None:
    found, _ = played(3, limits=None, steps=12)
    of_each = {i: [e for e in found if e.notes[0][0] == i] for i in range(3)}
    assert [e for i in range(3) for e in of_each[i]] == found
    for episodes in of_each.values():
        assert sum(map(len, episodes)) >= 12 > sum(map(len, episodes[:-1]))
        assert all(e.over and len(e.observations) == len(e.masks) == len(e) + 1 for e in episodes)


@pytest.mark.usefixtures("nothing_left")
def test_a_crash_is_the_end_of_one_episode() -> None:
    task = failing_task(TASK, "segfault")
    crash = task.actions.index("segfault")

    def act(numbers: Sequence[int], observations: list[Any], masks: Any) -> Any:
        return np.array([crash if i == 0 else 1 for i in numbers]), np.zeros((len(numbers), 0))

    several = VectorEnv(partial(Env, task, counters("a=1000"), max_steps=3), 2)
    found = play(several, act, steps=3, seed=0)
    several.close()
    assert [(len(e), e.crashed, e.terminated) for e in found] == [(1, True, True)] * 3 + [(3, False, False)]
    assert summary(found)["crashes"] == 3
    assert summary(found)["length"] == 1.5


def test_a_program_in_which_nothing_is_legal_is_named() -> None:
    with pytest.raises(InputError, match="b=0: no action is legal"):
        played(1, programs=counters("b=0"), limits=None)


def test_draw_follows_the_probabilities_and_never_draws_what_has_none() -> None:
    log_probs = np.log(np.array([[0.0, 0.25, 0.0, 0.5, 0.25, 0.0]], dtype=np.float32) + 1e-45)
    log_probs[:, [0, 2, 5]] = -1e9
    uniform = np.array([0, 0.1, 0.25, 0.5, 0.74, 0.76, 1 - 2**-53])
    found = draw(np.repeat(log_probs, len(uniform), axis=0), uniform)
    assert found.tolist() == [4, 4, 3, 3, 3, 1, 1]
    many = draw(np.repeat(log_probs, 100_000, axis=0), np.random.default_rng(0).random(100_000))
    np.testing.assert_allclose(np.bincount(many, minlength=6) / 1e5, [0, 0.25, 0, 0.5, 0.25, 0], atol=0.01)


@pytest.mark.parametrize(
    ("share", "seconds"),
    [(0.0, 30.0), (0.79, 30.0), (0.8, 15.0), (0.89, 15.0), (0.9, 0.0), (1.0, 0.0)],
)
def test_the_end_is_mlgo_s(share: float, seconds: float) -> None:
    """WAIT_TERMINATION and DEADLINE_IN_SECONDS of ml-compiler-opt's data_collector.py."""
    assert EarlyEnd().after(share) == seconds


def test_an_end_that_no_rule_says_never_comes() -> None:
    assert EarlyEnd(waits=((0.9, 0.5),)).after(0.5) == np.inf
    assert EarlyEnd.within(None) is None
    assert EarlyEnd.within(2.0) == EarlyEnd(2.0)
    with pytest.raises(InputError, match="more than 0"):
        EarlyEnd(0.0)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("steps", [1, 3])
def test_who_hangs_is_not_waited_for_once_nine_tenths_are_done(steps: int) -> None:
    """Ten environments, of which one hangs for an hour; the others' episodes are what they would be."""
    task = failing_task(TASK, "hang")
    several = VectorEnv(
        [partial(Env, task, LARGE, max_steps=steps, limits=Limits(deadline_seconds=3600))] * 10, workers=10
    )
    hang = len(task.actions) - 1

    def act(numbers: Sequence[int], observations: list[Any], masks: Any) -> Any:
        actions = [
            hang if i == 4 else int(np.flatnonzero(mask)[0]) for i, mask in zip(numbers, masks, strict=True)
        ]
        return np.array(actions), np.array([[float(i)] for i in numbers])

    def harmless(numbers: Sequence[int], observations: list[Any], masks: Any) -> Any:
        return np.array([int(np.flatnonzero(mask)[0]) for mask in masks]), np.array([[i] for i in numbers])

    try:
        found = play(several, act, steps=steps, seed=1, early_end=EarlyEnd(3600))
        assert [int(episode.notes[0][0]) for episode in found] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
        whole = play(several, harmless, steps=steps, seed=1)  # all can be reset and played
        assert contents([whole[i] for i in range(10) if i != 4]) == contents(found)
        assert len(whole) == 10 and not any(episode.crashed for episode in whole)
    finally:
        several.close()


@pytest.mark.usefixtures("nothing_left")
def test_the_deadline_ends_a_batch_whatever_is_done_but_not_with_nothing() -> None:
    """One of two hangs when it has played an episode, the other at once; both would for an hour."""
    task = failing_task(TASK, "hang")
    several = VectorEnv(
        [partial(Env, task, LARGE, max_steps=2, limits=Limits(deadline_seconds=3600))] * 2, workers=2
    )
    hang = len(task.actions) - 1
    steps = [0, 0]

    def act(numbers: Sequence[int], observations: list[Any], masks: Any) -> Any:
        chosen = []
        for i, mask in zip(numbers, masks, strict=True):
            steps[i] += 1
            chosen.append(hang if i == 1 or steps[i] > 2 else int(np.flatnonzero(mask)[0]))
        return np.array(chosen), np.zeros((len(chosen), 0))

    try:
        found = play(several, act, steps=10, seed=1, early_end=EarlyEnd(0.2))
    finally:
        several.close()
    assert [len(episode) for episode in found] == [2]
    assert steps == [3, 1]
