"""What happens where a compiler crashes, hangs or eats memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import numpy as np
import pytest

from burnish.core.program import Program
from burnish.core.task import Task
from burnish.envs.env import Env
from burnish.envs.walks import snapshot, wander
from burnish.workers.worker import GIB, Limits, Worker
from tests.conftest import OpenSandbox
from tests.core.failures import FAILURES, failing_task
from tests.walks import assert_same

LIMITS = Limits(deadline_seconds=60.0, memory_bytes=GIB)  # other tests may take the cores meanwhile


@contextmanager
def impatient(worker: Worker) -> Iterator[None]:
    """Wait half a second for what never ends, and only for that."""
    before = worker.limits
    worker.limits = replace(before, deadline_seconds=0.5)
    yield
    worker.limits = before


class FailureClaims:
    """The contract of sandboxes and environments around a compiler that fails."""

    @pytest.mark.parametrize("failure", FAILURES)
    def test_session_survives(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox, failure: str
    ) -> None:
        failing = failing_task(task)
        session = open_sandbox(failing.open, programs[0], LIMITS)
        wander(session, np.random.default_rng(4), 3, avoid=len(FAILURES))
        sibling = session.fork()
        before, pid = snapshot(task, session), session.pid
        waiting = impatient(session._worker) if failure == "hang" else nullcontext()
        with waiting, pytest.raises(FAILURES[failure]) as caught:
            session.apply(session.index(failure))
        assert type(caught.value) is FAILURES[failure]
        assert session.pid is None
        assert snapshot(task, session) == before
        assert session.pid not in (None, pid)
        assert snapshot(task, sibling) == before
        wander(session, np.random.default_rng(5), 3, avoid=len(FAILURES))

    def test_crash_ends_the_episode_with_the_failure_reward(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        rewards = {"CompilerCrash": -3.0, "CompilerTimeout": -5.0}
        env = Env(failing_task(task), programs, failure_reward=rewards, limits=LIMITS)
        assert env.worker
        observed, _ = env.reset()
        cases = ("be-killed", "CompilerKilled", -3.0), ("hang", "CompilerTimeout", -5.0)
        for failure, kind, paid in cases:  # a killed compiler is paid as its base class, a crash
            action = env.task.actions.index(failure)
            with impatient(env.worker) if failure == "hang" else nullcontext():
                last, reward, terminated, truncated, info = env.step(action)
            assert (reward, terminated, truncated) == (paid, True, False)
            assert info["error"] and info["failure"] == kind and not info["mask"].any()
            assert_same(last, observed)
            observed, info = env.reset()
            assert info["mask"].any()
        env.close()

    def test_episode_begins_after_a_kill_between_episodes(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        env = Env(task, programs[0])
        observed, _ = env.reset()
        os.kill(env.session.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        again, _ = env.reset()
        assert_same(again, observed)
        env.close()
