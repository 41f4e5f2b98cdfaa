"""Threads share the calls of a message: all are answered, in order, and nobody pays for what another did."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from burnish.core.errors import CompilerCrash, CompilerMemory
from burnish.workers import child
from burnish.workers.worker import GIB, Undone, Worker, gathered
from tests.core.counting_task import TASK, counters
from tests.core.failures import fail
from tests.workers.test_sandbox import square

SUBTRACT = TASK.actions.index("subtract(1)")


@pytest.fixture
def worker(make_worker: Callable[..., Worker]) -> Worker:
    made = make_worker(deadline_seconds=20, memory_bytes=GIB // 4)
    made.threads = 2
    return made


def test_threads_share_the_calls_of_a_message(worker: Worker) -> None:
    """Two wait for each other, which none could alone; the answers come in the order of the calls."""
    worker.call(square, 1)
    with gathered([worker]):
        calls = [worker.begin(meet) for _ in range(2)] + [worker.begin(square, 3)]
    assert [worker.finish(call) for call in calls] == [True, True, 9]


def test_whoever_may_have_killed_the_process_is_undone(worker: Worker) -> None:
    with gathered([worker]):
        calls = [worker.begin(time.sleep, 15), worker.begin(fail, "segfault"), worker.begin(square, 3)]
    for call in calls:
        with pytest.raises(Undone):
            worker.finish(call)
    with pytest.raises(CompilerCrash, match="SIGSEGV"):
        worker.call(fail, "segfault")


def test_whoever_may_have_eaten_the_memory_is_undone(worker: Worker) -> None:
    with gathered([worker]):
        done, eats = worker.begin(square, 2), worker.begin(fail, "eat-memory")
        after = worker.begin(square, 3)
    assert worker.finish(done) == 4
    for call in (eats, after):
        with pytest.raises(Undone):
            worker.finish(call)
    with pytest.raises(CompilerMemory):
        worker.call(fail, "eat-memory")


def test_threads_leave_a_session_s_calls_in_order(worker: Worker) -> None:
    with gathered([worker]):
        worker.begin(child.open_session, 1, TASK.open, counters("a=900 b=7"), ())
        worker.begin(child.fork_session, 1, 2)
        for _ in range(20):
            for key in (1, 2):
                worker.begin(child.call_session, key, "apply", (SUBTRACT, "a"))
        digests = [worker.begin(child.call_session, key, "digest") for key in (1, 2)]
        worker.post(child.close_session, 1)
        last = worker.begin(child.call_session, 2, "cost", ("total",))
    assert [worker.finish(call) for call in digests] == ["a=880 b=7"] * 2
    assert worker.finish(last) == 888


_meeting = threading.Barrier(2)


def meet() -> bool:
    """Return once another thread is here, too."""
    _meeting.wait(timeout=20)
    return True
