"""Nothing is believed that was not measured afresh."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from burnish.core.errors import ReplayError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.worker import GIB, Limits
from burnish.evaluation import confirm, measure_baselines, replay
from burnish.search import Budget, search
from burnish.tasks.llvm_passes import TASK as LLVM
from tests.core.counting_task import TASK, CountingSession, counters
from tests.core.failures import failing_task
from tests.sources import program

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
PROGRAM = counters("a=240 b=77")
BASELINES = {"start": {"total": 318.0, "largest": 241.0}, "halved": {"total": 93.0, "largest": 78.0}}


def claimed(*trace: str, cost: float = 2.0) -> Result:
    """Return what a search might claim."""
    return Result("counting-v3", "p", PROGRAM.digest, "total", "m", 0, trace, cost, {}, 1, 0.1, {})


def test_baselines_are_measured() -> None:
    assert measure_baselines(TASK, PROGRAM, ["start", "halved"], limits=LIMITS) == BASELINES


def test_variant_is_measured_in_place_of_the_program() -> None:
    costs = measure_baselines(TASK, PROGRAM, ["start"], variants={"start": counters("a=1")}, limits=LIMITS)
    assert costs == {"start": {"total": 2.0, "largest": 2.0}}


def test_better_result_is_confirmed_at_its_measured_cost() -> None:
    trace = ("halve",) * 3 + ("a: halve", "b: subtract(3)")
    result = confirm(TASK, PROGRAM, claimed(*trace), BASELINES, limits=LIMITS)
    assert (result.cost, result.fallback, result.trace) == (90.0, "", trace)  # not what was claimed
    assert result.baselines == {"start": 318.0, "halved": 93.0}
    assert result.beside == {"largest": {"result": 75.0, "start": 241.0, "halved": 78.0}}
    assert result.state == "a=15 b=74"
    assert result.valid
    assert result.toolchain["llvm"] and result.toolchain["burnish"]
    assert result.ratio("halved") == 93 / 90


@pytest.mark.parametrize("trace", [(), ("halve",) * 4, ("add(1)",)])
def test_reference_is_kept_where_nothing_better_was_found(trace: tuple[str, ...]) -> None:
    result = confirm(TASK, PROGRAM, claimed(*trace), BASELINES, limits=LIMITS)
    assert (result.fallback, result.trace, result.cost, result.valid) == ("halved", (), 93.0, True)
    assert result.beside["largest"]["result"] == 78.0


@pytest.mark.parametrize("failure", ["be-killed", "give-up"])
def test_result_that_crashes_is_invalid(failure: str) -> None:
    result = confirm(failing_task(TASK), PROGRAM, claimed("halve", failure), BASELINES, limits=LIMITS)
    assert (result.valid, result.fallback, result.cost, result.trace) == (False, "halved", 93.0, ())
    assert result.verified[0].startswith("failed: ")


class MoodySession(CountingSession):
    """Another state in every process."""

    def digest(self) -> str:
        return f"{super().digest()} {os.getpid()}"


def open_moody(program: Program) -> Session:
    return MoodySession(program)


def test_result_that_does_not_repeat_is_invalid() -> None:
    moody = replace(TASK, open=open_moody)
    with pytest.raises(ReplayError, match="two replays of the same trace differ"):
        replay(moody, PROGRAM, ("halve",), limits=LIMITS)
    result = confirm(moody, PROGRAM, claimed("halve"), BASELINES, limits=LIMITS)
    assert (result.valid, result.fallback) == (False, "halved")


def test_replayed_session_goes_on() -> None:
    session, checks = replay(TASK, PROGRAM, ("halve", "b: subtract(1)"), limits=LIMITS)
    assert session.digest() == "a=120 b=76"
    assert checks == ("replayed in two new processes: the same state",)
    session.shutdown()


@pytest.mark.parametrize("objective", ["ir-instructions", "text-bytes"])
def test_llvm_result_is_never_worse_than_the_reference(objective: str) -> None:
    source = program("hash_table.c")
    costs = measure_baselines(LLVM, source, list(LLVM.baselines), limits=LIMITS)
    found = search(
        LLVM, source, method="random", objective=objective, budget=Budget(evaluations=8), limits=LIMITS
    )
    result = confirm(LLVM, source, found, costs, limits=LIMITS)
    assert result.valid
    assert "LLVM's verifier accepts it" in result.verified
    assert result.cost <= costs["Oz"][objective]
    assert result.fallback == "Oz" or result.cost < costs["Oz"][objective]
    assert set(result.beside) == {*LLVM.exact_objectives} - {objective}
