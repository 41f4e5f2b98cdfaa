"""Evaluation: what a trace costs does not depend on who evaluates it, or after what."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.search import prefix_tree
from burnish.search.evaluator import BudgetSpent, Evaluator
from burnish.search.prefix_tree import PrefixTree
from burnish.search.problem import Problem
from burnish.search.space import NOT_TRIED, Ask, Batch, Evaluation
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.workers.worker import GIB, Limits, Worker
from tests.core import counting_task
from tests.core.counting_task import TASK as COUNTING
from tests.core.counting_task import CountingSession, counters
from tests.core.failures import failing_task
from tests.sources import program
from tests.waiting import SetClock

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
PROGRAM = counters("a=640 b=77 c=3")
PROBLEM = Problem(COUNTING, PROGRAM, limits=LIMITS)


@pytest.fixture(params=[1, 2])
def workers(request: pytest.FixtureRequest, nothing_left: None) -> Iterator[int]:
    yield request.param


def evaluated(
    problem: Problem, traces: list[Trace], workers: int = 1, ask: Ask = Ask.COST
) -> list[Evaluation]:
    """Evaluate traces on so many workers."""
    evaluator = Evaluator(problem, workers=workers)
    batch = Batch(traces, ask)
    try:
        for _ in evaluator.evaluate(batch, most=None, end=None):
            pass
        return evaluator.known(batch)
    finally:
        evaluator.close()


def random_traces(task: Task, count: int, longest: int, seed: int) -> list[Trace]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, size=count)
    return [tuple(task.actions[i] for i in rng.integers(len(task.actions), size=n)) for n in lengths]


def cheapest_by_hand(task: Task, program: Program, trace: Trace, objective: str) -> float:
    """Return the lowest cost on the way along a trace, or the last where that is what counts."""
    session = task.open(program)
    costs = [session.measure(objective)]
    for action in trace:
        if session.legal()[session.index(action)]:
            session.apply(session.index(action))
            costs.append(session.measure(objective))
    return min(costs) if task.objective(objective).dense else costs[-1]


@pytest.mark.parametrize("objective", ["total", "largest"])
def test_costs_are_those_of_a_plain_replay(workers: int, objective: str) -> None:
    traces = random_traces(COUNTING, 60, 30, seed=1)
    found = evaluated(Problem(COUNTING, PROGRAM, objective, limits=LIMITS), traces, workers)
    assert [item.cost for item in found] == [
        cheapest_by_hand(COUNTING, PROGRAM, trace, objective) for trace in traces
    ]


@pytest.mark.parametrize("objective", ["ir-instructions", "text-bytes"])
def test_llvm_costs_are_those_of_a_plain_replay(objective: str, nothing_left: None) -> None:
    source = program("dispatch.c")
    found = evaluated(Problem(LLVM, source, objective, limits=LIMITS), random_traces(LLVM, 25, 8, seed=2), 2)
    for item in found:
        if item.error:
            continue
        for trace in (item.path, item.trace):
            session = LLVM.open(source)
            session.replay(trace)
            assert session.measure(objective) == item.cost


def test_site_costs_are_those_of_the_end(workers: int) -> None:
    (item,) = evaluated(PROBLEM, [("halve", "a: halve")], workers, ask=Ask.SITE_COSTS)
    assert item.site_costs == {"a": 160, "b": 77, "c": 3}
    assert item.cost == 241


def test_illegal_entries_are_left_out() -> None:
    (item,) = evaluated(PROBLEM, [("c: subtract(3)", "c: halve", "b: subtract(1)")])
    assert item.trace == item.path == ("c: subtract(3)", "b: subtract(1)")


def test_same_trace_is_evaluated_once(workers: int) -> None:
    evaluator = Evaluator(PROBLEM, workers=workers)
    traces: list[Trace] = [("halve",), (), ("halve",), ("halve",)]
    assert len(list(evaluator.evaluate(Batch(traces), most=None, end=None))) == 2
    assert list(evaluator.evaluate(Batch(traces), most=0, end=None)) == []
    assert [item.trace for item in evaluator.known(Batch(traces))] == traces
    assert evaluator.evaluations == 2
    evaluator.close()


def test_budget_cuts_a_batch(workers: int) -> None:
    evaluator = Evaluator(PROBLEM, workers=workers)
    traces = [("halve",) * n for n in range(10)]
    with pytest.raises(BudgetSpent):
        list(evaluator.evaluate(Batch(traces), most=4, end=None))
    assert evaluator.evaluations == 4
    assert [item.cost for item in evaluator.known(Batch(traces[:4]))]
    with pytest.raises(BudgetSpent):
        list(evaluator.evaluate(Batch(traces), most=None, end=time.monotonic()))
    evaluator.close()


def test_partial_batch_has_what_there_was_a_budget_for(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SetClock()
    evaluator = Evaluator(PROBLEM, workers=workers, clock=clock)
    traces = [("subtract(3)",), ("halve",), ("halve", "halve"), ()]  # the first first, not by the alphabet
    batch = Batch(traces, partial=True)
    list(evaluator.evaluate(batch, most=2, end=None))
    assert [item.error for item in evaluator.known(batch)] == ["", "", NOT_TRIED, NOT_TRIED]
    list(evaluator.evaluate(batch, most=None, end=0.0))  # nothing is begun any more
    assert [item.error for item in evaluator.known(batch)].count(NOT_TRIED) == 2
    send = Worker.send

    def late(worker: Worker, *call: Any) -> None:
        send(worker, *call)
        clock.seconds = 1.0  # the time is over when all workers have begun

    monkeypatch.setattr(Worker, "send", late)
    list(evaluator.evaluate(batch, most=None, end=1.0))  # what was begun is waited for
    assert [item.error for item in evaluator.known(batch)].count(NOT_TRIED) == 2 - workers
    list(evaluator.evaluate(batch, most=None, end=None))
    assert [item.cost for item in evaluator.known(batch)] == [712, 401, 241, 721]
    evaluator.close()


def test_what_is_better_comes_before_a_trace_that_never_ends() -> None:
    clock = SetClock()
    limits = replace(LIMITS, deadline_seconds=3600)
    evaluator = Evaluator(
        replace(PROBLEM, task=failing_task(COUNTING, "hang"), limits=limits), workers=1, clock=clock
    )
    found = []
    last = ("halve", "subtract(1)", "halve")
    with pytest.raises(BudgetSpent):
        batch = Batch([("halve",), ("halve", "subtract(1)", "halve", "hang")])
        for item in evaluator.evaluate(batch, most=None, end=1000.0):
            found.append((item.trace, item.cost))
            clock.seconds = 1000.0 if item.trace == last else 0.0
    evaluator.close()
    assert evaluator.evaluations == 1
    assert last in [trace for trace, _ in found]
    assert [cost for _, cost in found] == sorted((cost for _, cost in found), reverse=True)
    session = COUNTING.open(PROGRAM)
    session.replay(found[-1][0])
    assert session.measure("total") == found[-1][1]


@pytest.mark.parametrize("failure", ["be-killed", "give-up", "eat-memory"])
def test_crash_is_blamed_on_its_trace_alone(workers: int, failure: str) -> None:
    traces: list[Trace] = [("halve",), ("halve", failure), ("halve", "halve"), (failure,), ("subtract(1)",)]
    found = evaluated(replace(PROBLEM, task=failing_task(COUNTING)), traces, workers)
    assert [bool(item.error) for item in found] == [False, True, False, True, False]
    assert [math.isinf(item.cost) for item in found] == [False, True, False, True, False]


def test_hang_is_blamed_on_its_trace_alone(nothing_left: None) -> None:
    traces: list[Trace] = [("halve",), ("halve", "hang"), ("subtract(1)",)]
    limits = Limits(deadline_seconds=3, memory_bytes=GIB)
    found = evaluated(Problem(failing_task(COUNTING), PROGRAM, limits=limits), traces)
    assert ["no answer within 3 seconds" in item.error for item in found] == [False, True, False]


class Watched(CountingSession):
    """Counts what is applied, in all its forks."""

    applied = 0

    def apply(self, action: int, site: str = "") -> bool:
        Watched.applied += 1
        return super().apply(action, site)

    def fork(self) -> Watched:
        copy = Watched(PROGRAM)
        copy.counters, copy.trace = dict(self.counters), list(self.trace)
        return copy


def applied_for(traces: list[Trace], tree: PrefixTree) -> int:
    """Return how many actions a tree applies for traces in this order."""
    Watched.applied = 0
    for trace, following in zip(traces, [*traces[1:], ()], strict=True):
        shared = next(
            (i for i, pair in enumerate(zip(trace, following, strict=False)) if pair[0] != pair[1]),
            min(len(trace), len(following)),
        )
        list(tree.evaluate(trace, COUNTING.objective(), Ask.COST, keep=shared))
    return Watched.applied


def test_prefixes_are_applied_once() -> None:
    head = ("halve", "halve", "subtract(1)")
    traces: list[Trace] = [(*head, action) for action in sorted(counting_task.ACTIONS)]
    assert applied_for(traces, PrefixTree(Watched(PROGRAM))) == len(head) + len(traces)


def test_known_prefix_is_not_applied_again() -> None:
    tree = PrefixTree(Watched(PROGRAM))
    head = ("halve",) * 3
    applied_for([(*head, "subtract(1)"), (*head, "subtract(3)")], tree)
    assert applied_for([(*head, "add(1)")], tree) == 1


def test_end_of_a_trace_that_took_long_is_gone_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_tree, "PAYING_FORKS", -1.0)
    tree = PrefixTree(Watched(PROGRAM))
    head = ("halve",) * 3
    assert applied_for([head], tree) == 3
    assert applied_for([(*head, "subtract(1)")], tree) == 1


def test_few_states_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_tree, "STATES", 12)
    tree = PrefixTree(Watched(PROGRAM))
    for count in range(1, 48):
        head = ("halve",) + ("add(1)",) * count
        applied_for([(*head, "subtract(1)"), (*head, "subtract(3)")], tree)
    assert len(tree._kept) == 12


def test_large_programs_have_fewer_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_tree, "FORK_SECONDS", 0.0)
    tree = PrefixTree(Watched(PROGRAM))
    for action in counting_task.ACTIONS * 3:
        applied_for([("halve", action, "halve"), ("halve", action, "add(1)")], tree)
    assert len(tree._kept) == prefix_tree.FEWEST
