"""Environments that share worker processes: one message each way, and nobody pays for another's crash."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import CompilerCrash, CompilerTimeout, InputError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.workers import child
from burnish.workers.worker import Limits, Undone, Worker, gathered
from tests.conftest import children
from tests.core.counting_task import TASK, counters
from tests.core.failures import fail, failing_task
from tests.waiting import SetClock
from tests.walks import assert_same
from tests.workers.test_sandbox import refuse, square

PROGRAMS = [counters("a=8"), counters("a=6 b=4"), counters("a=5 c=1000 d=77"), counters("a=3")]
FAILING = failing_task(TASK, "segfault", "hang", "give-up")
SUBTRACT = TASK.actions.index("subtract(1)")
HALVE = TASK.actions.index("halve")

Make = Callable[..., VectorEnv]


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def vector(nothing_left: None, request: pytest.FixtureRequest) -> Iterator[Make]:
    """Return a function that begins episodes in so many workers; all are closed at the end."""
    made: list[VectorEnv] = []

    def make(num_envs: int, workers: int, **options: Any) -> VectorEnv:
        make_one = partial(Env, FAILING, counters("a=900"), **options)
        made.append(VectorEnv(make_one, num_envs, workers=workers, threads=request.param))
        made[-1].reset(seed=0)
        return made[-1]

    yield make
    for several in made:
        several.close()
    made.clear()


def test_calls_that_begin_together_go_in_one_message(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = count_messages(monkeypatch)
    with gathered([worker]):
        calls = [worker.begin(square, number) for number in range(5)]
    assert [worker.finish(call) for call in reversed(calls)] == [16, 9, 4, 1, 0]
    assert sent == [5]


def test_calls_that_begin_meanwhile_go_in_the_next(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = count_messages(monkeypatch)
    calls = [worker.begin(square, number) for number in range(5)]
    assert [worker.finish(call) for call in calls] == [0, 1, 4, 9, 16]
    assert sent == [1, 4]


def test_an_error_of_ours_is_one_calls(worker: Worker) -> None:
    with gathered([worker]):
        first, bad = worker.begin(square, 2), worker.begin(refuse, "because")
        last = worker.begin(square, 3)
    assert (worker.finish(first), worker.finish(last)) == (4, 9)
    with pytest.raises(InputError, match="because"):
        worker.finish(bad)
    assert worker.generation == 1


@pytest.mark.parametrize("failure", ["segfault", "give-up"])
def test_calls_behind_a_crash_are_undone(worker: Worker, failure: str) -> None:
    with gathered([worker]):
        calls = [worker.begin(square, 2), worker.begin(fail, failure), worker.begin(square, 3)]
    assert worker.finish(calls[0]) == 4
    with pytest.raises(Undone):
        worker.finish(calls[2])
    with pytest.raises(CompilerCrash, match=r"SIGSEGV|out of registers"):
        worker.finish(calls[1])
    assert worker.call(square, 5) == 25
    assert worker.generation == 2


def test_the_deadline_holds_for_each_call(nothing_left: None, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SetClock()
    for module in ("worker", "process"):
        monkeypatch.setattr(f"burnish.workers.{module}.time", clock)
    worker = Worker(Limits(deadline_seconds=1000.0))
    with gathered([worker]):
        calls = [worker.begin(square, number) for number in range(3)] + [worker.begin(fail, "hang")]
    for number, call in enumerate(calls[:3]):
        clock.seconds += 600
        assert worker.finish(call) == number**2
    clock.seconds += 1000
    with pytest.raises(CompilerTimeout, match="no answer within 1e\\+03 seconds"):
        worker.finish(calls[3])


def count_messages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of calls of each message that is sent from now on."""
    sent: list[int] = []
    write = child.write_message

    def listen(descriptor: int, message: Any) -> None:
        sent.append(len(message[1]))
        write(descriptor, message)

    monkeypatch.setattr(child, "write_message", listen)
    return sent


def test_a_step_is_one_message_a_worker(vector: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()
    several = vector(7, 2, max_steps=2)
    assert len(children() - before) == 2
    sent = count_messages(monkeypatch)
    several.step([SUBTRACT] * 7)
    assert sent == [4, 3]
    several.step([SUBTRACT] * 7)
    several.step([SUBTRACT] * 7)  # in which all episodes begin: the last session of each is closed
    assert sent == [4, 3, 4, 3, 8, 6]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_sharing_changes_nothing(nothing_left: None, mode: str) -> None:
    seen = []
    for workers, threads in ((1, 1), (2, 1), (5, 1), (1, 3), (2, 2)):
        make = partial(Env, TASK, PROGRAMS, max_steps=5, order="sample", sites=1)
        several = VectorEnv(make, 5, mode, workers, threads)
        rng = np.random.default_rng(0)
        rows: list[Any] = [several.reset(seed=7)]
        for _ in range(25):
            masks = several.action_masks()
            rows.append(several.step([int(rng.choice(np.flatnonzero(m))) if m.any() else 0 for m in masks]))
        seen.append(rows)
        several.close()
    for other in seen[1:]:
        assert_same(seen[0], other)


@pytest.mark.parametrize("failure", ["segfault", "give-up"])
def test_a_crash_costs_its_own_episode_only(vector: Make, failure: str) -> None:
    several = vector(5, 1)
    several.step([HALVE, SUBTRACT, HALVE, SUBTRACT, SUBTRACT])
    crash = FAILING.actions.index(failure)
    _, rewards, terminated, _, infos = several.step([SUBTRACT, SUBTRACT, crash, SUBTRACT, crash])
    assert terminated.tolist() == [False, False, True, False, True]
    assert rewards[[2, 4]].tolist() == [-1, -1]
    assert infos["cost"][[0, 1, 3]].tolist() == [450, 899, 899]
    worker = several.envs[0].worker
    assert worker
    in_turn = worker.threads == 1 or failure == "give-up"  # else each call is made again, alone
    assert worker.generation == 2 if in_turn else worker.generation > 2
    infos = several.step([SUBTRACT] * 5)[-1]
    assert infos["cost"].tolist() == [449, 898, 901, 898, 901]
    assert several.get_attr("trace")[0] == ("halve", "subtract(1)", "subtract(1)")
    assert [env.session.digest() for env in several.envs] == ["a=448", "a=897", "a=900", "a=897", "a=900"]


def test_a_hang_costs_one_deadline(vector: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[str] = []

    def counted(text: str) -> CompilerTimeout:
        late.append(text)
        return CompilerTimeout(text)

    monkeypatch.setattr("burnish.workers.worker.CompilerTimeout", counted)
    several = vector(4, 1, limits=Limits(deadline_seconds=2.0))
    hang = FAILING.actions.index("hang")
    _, _, terminated, _, infos = several.step([SUBTRACT, hang, SUBTRACT, SUBTRACT])
    assert len(late) == 1
    assert terminated.tolist() == [False, True, False, False]
    assert "no answer within 2 seconds" in infos["error"][1]
    assert infos["cost"][[0, 2, 3]].tolist() == [900] * 3


def test_a_worker_killed_between_steps_costs_one_episode(vector: Make) -> None:
    several = vector(3, 1)
    several.step([SUBTRACT] * 3)
    assert several.envs[0].worker and several.envs[0].worker.pid
    os.kill(several.envs[0].worker.pid, signal.SIGKILL)
    _, _, terminated, _, infos = several.step([SUBTRACT] * 3)
    threads = several.envs[0].worker.threads
    assert terminated.tolist() == [threads == 1, False, False]  # of several, each call is made again
    assert infos["cost"][1:].tolist() == [899] * 2


def test_a_crash_among_those_that_do_not_wait(vector: Make) -> None:
    several = vector(3, 1)
    for i, action in enumerate((SUBTRACT, FAILING.actions.index("segfault"), SUBTRACT)):
        several.send(i, action)
    steps: dict[int, Any] = {}
    while len(steps) < 3:
        steps |= dict(several.ready())
    assert [steps[i][2] for i in range(3)] == [False, True, False]
    assert [steps[i][-1].get("cost") for i in range(3)] == [900, None, 900]
    assert several.ready() == []


def test_ctrl_c_leaves_every_environment_where_it_was(vector: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    several = vector(5, 2)
    several.step([SUBTRACT] * 5)
    heard = []
    wait_for = child.wait_for

    def interrupt(*arguments: Any) -> bool:
        heard.append(1)
        if len(heard) == 3:
            raise KeyboardInterrupt
        return wait_for(*arguments)

    monkeypatch.setattr(child, "wait_for", interrupt)
    with pytest.raises(KeyboardInterrupt):
        several.step([SUBTRACT] * 5)
    monkeypatch.undo()
    after = [len(trace) for trace in several.get_attr("trace")]
    assert sum(after) in (6, 7)  # two were heard: the second of them in time or not
    costs = several.step([SUBTRACT] * 5)[-1]["cost"].tolist()
    assert costs == [900 - steps for steps in after]


def test_a_sessions_own_calls_wait_for_their_turn(vector: Make) -> None:
    several = vector(3, 1)
    for i in range(3):
        several.send(i, SUBTRACT)
    assert several.envs[0].worker
    pid = several.envs[0].worker.pid
    steps: dict[int, Any] = {}
    while len(steps) < 3:
        steps |= dict(several.ready())
    assert several.envs[1].session.measure("total") == 900
    several.send(0, SUBTRACT)
    assert several.envs[1].session.measure("total") == 900  # behind the step
    assert several.ready()[0][1][-1]["cost"] == 899
    assert several.envs[0].worker.pid == pid


def test_environments_of_other_limits_have_their_own_workers(nothing_left: None) -> None:
    makers = [
        partial(Env, TASK, PROGRAMS, limits=limits)
        for limits in (Limits(), None, Limits(10.0), Limits(), Limits(10.0))
    ]
    several = VectorEnv(makers, workers=1)
    a, b, c, d, e = (env.worker for env in several.envs)
    assert a is d and c is e and a is not c and b is None
    several.reset(seed=0)
    several.step([SUBTRACT] * 5)
    several.close()


_opened: list[str] = []


def open_noted(program: Program) -> Session:
    _opened.append(program.name)
    return TASK.open(program)


def noted() -> list[str]:
    return _opened


def test_environments_of_a_worker_share_programs_and_baselines(nothing_left: None) -> None:
    task = replace(TASK, open=open_noted, baselines={"start": open_noted, "halved": open_noted})
    several = VectorEnv(partial(Env, task, PROGRAMS[:2], baselines=["start"], max_steps=2), 4, workers=1)
    several.reset(seed=0)
    for _ in range(9):
        several.step([SUBTRACT] * 4)
    worker = several.envs[0].worker
    assert worker
    opened = worker.call(noted)
    once_and_two_costs = 3  # both begin before either has heard what the baseline costs
    assert sorted(opened) == sorted([program.name for program in PROGRAMS[:2]] * once_and_two_costs)
    several.close()
