"""Idle steps, minimal traces, and what a step is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from burnish.core.errors import CompilerCrash, IllegalAction, UnknownName
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.evaluation import replay
from burnish.evaluation.explain import contributions, idle_steps, minimize_trace
from burnish.evaluation.states import KEPT, States
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.workers.worker import GIB, Limits
from tests.core.counting_task import TASK, CountingSession, counters
from tests.core.failures import failing_task
from tests.sources import program

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
PROGRAM = counters("a=240 b=77")


@pytest.fixture
def states() -> Iterator[States]:
    with States(TASK, PROGRAM, limits=LIMITS) as opened:
        yield opened


def idle(task: Task, source: Program, *trace: str) -> tuple[bool, ...]:
    with States(task, source, limits=LIMITS) as opened:
        return idle_steps(task, source, trace, opened.digests(trace), limits=LIMITS)


def test_digests_are_those_of_the_states(states: States) -> None:
    assert states.digests(("a: halve", "b: subtract(1)")) == ("a=240 b=77", "a=120 b=77", "a=120 b=76")


def test_cost_of_a_trace_that_leads_nowhere_is_infinite(states: States) -> None:
    assert states.cost(("halve",), "total") == 1 + 120 + 77
    assert states.cost(("b: halve",), "total") == math.inf  # 77 is odd
    with pytest.raises(IllegalAction):
        states.digests(("b: halve",))
    with pytest.raises(UnknownName):
        states.digests(("double",))
    with pytest.raises(UnknownName):
        states.cost((), "smallest")


def test_no_action_is_applied_twice_to_a_state(states: States, monkeypatch: pytest.MonkeyPatch) -> None:
    applied = []
    apply = States._apply

    def recorded(self: States, state: str, text: str) -> str:
        applied.append((state, text))
        return apply(self, state, text)

    monkeypatch.setattr(States, "_apply", recorded)
    there = states.digests(("a: subtract(1)", "a: add(1)", "halve"))
    assert states.digests(("halve",)) == (there[0], there[-1])
    assert states.digests(("b: subtract(1)", "b: add(1)", "halve"))[-1] == there[-1]
    assert applied.count((there[0], "halve")) == 1
    assert len(applied) == len(set(applied)) == 5


def test_closed_states_are_reached_again(states: States) -> None:
    trace = ("subtract(1)",) * (KEPT + 5)
    states.digests(trace)
    assert states.session(trace[:1]).digest() == "a=239 b=76"
    assert states.cost(trace[:2], "total") == 1 + 238 + 75


def test_states_survive_a_crash() -> None:
    with States(failing_task(TASK, "segfault"), PROGRAM, limits=LIMITS) as states:
        assert states.cost(("halve", "segfault"), "total") == math.inf
        assert states.cost(("halve", "a: halve"), "total") == 1 + 60 + 77
        with pytest.raises(CompilerCrash):
            states.digests(("halve", "segfault"))


def test_step_that_leaves_the_state_is_idle() -> None:
    assert idle(LLVM, program("matrix.c"), "mem2reg", "mem2reg", "globaldce", "gvn") == (
        *(False, True, True, False),
    )


def test_step_there_and_back_is_not_idle() -> None:
    assert idle(TASK, PROGRAM, "add(1)", "subtract(1)") == (False, False)


class SecretSession(CountingSession):
    """`add(1)` twice in a row subtracts two in all, and its digest shows none of it."""

    def __init__(self, source: Program) -> None:
        super().__init__(source)
        self.secret = False

    def apply(self, action: int, site: str = "") -> bool:
        if self.actions[action] != "add(1)":
            return super().apply(action, site)
        if self.secret:
            super().apply(1)
            super().apply(1)
        self.secret = not self.secret
        self.record(action, site)
        return False


def open_secret(source: Program) -> Session:
    return SecretSession(source)


def test_step_that_the_rest_needs_is_not_idle_although_its_digest_says_so() -> None:
    task = replace(TASK, open=open_secret)
    digests = ("a=9", "a=9", "a=7")
    trace = ("add(1)", "add(1)")
    assert idle_steps(task, counters("a=9"), trace, digests, limits=LIMITS) == (False, False)


def test_only_what_matters_is_left(states: States) -> None:
    reduced = minimize_trace(states, ("halve", "b: add(1)", "a: halve"), "total")
    assert reduced.trace == ("halve", "a: halve")
    assert contributions(states, reduced.trace, "total") == (60.0, 60.0)


def test_what_makes_it_dearer_does_not_matter(states: States) -> None:
    assert minimize_trace(states, ("add(1)",), "total").trace == ()


def test_worth_of_a_step_that_the_rest_needs_is_infinite(states: States) -> None:
    trace = ("b: subtract(1)", "b: halve")
    assert minimize_trace(states, trace, "total").trace == trace
    assert contributions(states, trace, "total") == (math.inf, 38.0)


def test_trace_that_leads_nowhere_is_not_minimized(states: States) -> None:
    with pytest.raises(IllegalAction):
        minimize_trace(states, ("b: halve",), "total")


@pytest.mark.parametrize("objective", ["ir-instructions", "text-bytes"])
@pytest.mark.parametrize("seed", range(3))
def test_minimal_traces_of_llvm_are_minimal(objective: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trace = tuple(LLVM.actions[i] for i in rng.integers(len(LLVM.actions), size=20))
    source = program("dispatch.c")
    with States(LLVM, source, limits=LIMITS) as states:
        matter = minimize_trace(states, trace, objective).trace
        worth = contributions(states, matter, objective)
    assert all(more > 0 for more in worth)
    session, _ = replay(Problem(LLVM, source, limits=LIMITS), matter)
    cost = session.measure(objective)
    session.shutdown()
    whole, _ = replay(Problem(LLVM, source, limits=LIMITS), trace)
    assert cost <= whole.measure(objective)
    whole.shutdown()
    for i, more in enumerate(worth):  # what the cache of states said, by hand
        session = LLVM.open(source)  # type: ignore[assignment]
        session.replay(matter[:i] + matter[i + 1 :])
        assert session.measure(objective) == cost + more
