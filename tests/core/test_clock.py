"""Budgets of time are measured by a clock that is a value: the wall's, the processors', or a test's."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from burnish.core.clock import PROCESSORS, WALL, ProcessorClock
from burnish.core.errors import CompilerTimeout
from burnish.search import SEARCHES, Budget
from burnish.search.problem import Problem
from burnish.search.run import Observer, Progress, run
from burnish.workers.worker import Limits, Worker
from tests.core.counting_task import TASK, counters
from tests.core.failures import fail


@dataclass
class CountedClock:
    """A clock that a test sets."""

    seconds: float = 0.0

    def now(self, processes: Iterable[int] = ()) -> float:
        return self.seconds

    def forked(self) -> CountedClock:
        return self


def work(seconds: float) -> float:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return time.process_time()


def test_a_child_counts_while_it_runs_and_when_it_was_waited_for() -> None:
    worker = Worker(Limits(begin="fork"))
    before = PROCESSORS.now()
    taken = worker.call(work, 0.05)
    assert worker.pid
    assert PROCESSORS.now([worker.pid]) - before >= taken >= 0.05
    worker.close()
    assert PROCESSORS.now() - before >= taken


def test_a_process_that_has_ended_counts_as_waited_for() -> None:
    worker = Worker(Limits(begin="fork"))
    worker.call(work, 0.0)
    pid = worker.pid
    assert pid
    worker.close()
    assert PROCESSORS.now([pid]) <= PROCESSORS.now()


def test_a_forked_process_goes_on_from_where_its_parent_was() -> None:
    worker = Worker(Limits(begin="fork"))
    clock = ProcessorClock(100.0).forked()
    assert clock.before >= 100.0
    assert clock.before <= worker.call(clock.now) < PROCESSORS.now([worker.pid or 0]) + clock.before
    worker.close()
    assert WALL.forked() is WALL


def test_a_search_ends_by_its_clock() -> None:
    """Whatever the wall says: here a second is an evaluation."""
    clock = CountedClock()

    def tick(progress: Progress) -> None:
        clock.seconds = progress.evaluations

    budget = Budget(seconds=30.0, workers=1, clock=clock)
    problem = Problem(TASK, counters("a=640 b=77 c=3"))
    found = run(SEARCHES["random"], problem, budget, observer=Observer(progress=tick))
    assert found.evaluations == found.seconds == 30


def test_no_answer_is_waited_for_beyond_until_by_the_workers_clock() -> None:
    worker = Worker()
    worker.clock, worker.until = CountedClock(2.0), 1.0
    with pytest.raises(CompilerTimeout):
        worker.call(fail, "hang")
    worker.close()
