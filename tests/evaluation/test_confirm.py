"""Nothing is believed that was not measured again."""

from __future__ import annotations

import os
from dataclasses import replace
from unittest.mock import Mock

import pytest

from burnish.core.errors import InputError, ReplayError
from burnish.core.guide import Guide, GuideFor, in_order
from burnish.core.program import Program, Workload
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.evaluation import confirm, measure_baselines, optimize, replay, replay_result, timing
from burnish.evaluation.confirm import reference_of
from burnish.evaluation.gain import measure_gain
from burnish.evaluation.timing import FASTER, IDENTICAL, NO_DIFFERENCE, SLOWER, Comparer, Comparison, Effort
from burnish.policies import find as policies
from burnish.search import Budget, problem, search
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.tasks.llvm_passes import Options, make_task
from burnish.tasks.loop_nests import TASK as NESTS
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import GIB, Limits
from tests.core.counting_task import TASK, CountingSession, counters
from tests.core.failures import failing_task
from tests.llvm.run.programs import run
from tests.sources import program

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
PROGRAM = counters("a=240 b=77")
PROBLEM = Problem(TASK, PROGRAM, limits=LIMITS)
BASELINES = {"start": {"total": 318.0, "largest": 241.0}, "halved": {"total": 93.0, "largest": 78.0}}


def claimed(*trace: str, cost: float = 2.0) -> Result:
    """Return what a search might claim."""
    return Result("counting-v3", "p", PROGRAM.digest, "total", "m", 0, trace, cost, {}, 1, 0.1, {})


def test_baselines_are_measured() -> None:
    assert measure_baselines(PROBLEM, ["start", "halved"]) == BASELINES


def test_variant_is_measured_in_place_of_the_program() -> None:
    costs = measure_baselines(replace(PROBLEM, variants={"start": counters("a=1")}), ["start"])
    assert costs == {"start": {"total": 2.0, "largest": 2.0}}


def test_better_result_is_confirmed_at_its_measured_cost() -> None:
    trace = ("halve",) * 3 + ("a: halve", "b: subtract(3)")
    result = confirm(PROBLEM, claimed(*trace), BASELINES)
    assert (result.cost, result.fallback, result.trace) == (90.0, "", trace)  # not what was claimed
    assert result.baselines == {"start": 318.0, "halved": 93.0}
    assert result.beside == {"largest": {"result": 75.0, "start": 241.0, "halved": 78.0}}
    assert result.state == "a=15 b=74"
    assert result.valid
    assert result.toolchain.keys() == {"burnish", "python"}  # there is no other tool
    assert result.ratio("halved") == 93 / 90


@pytest.mark.parametrize("trace", [(), ("halve",) * 4, ("add(1)",)])
def test_reference_is_kept_where_nothing_better_was_found(trace: tuple[str, ...]) -> None:
    result = confirm(PROBLEM, claimed(*trace), BASELINES)
    assert (result.fallback, result.trace, result.cost, result.valid) == ("halved", (), 93.0, True)
    assert result.beside["largest"]["result"] == 78.0


@pytest.mark.parametrize("failure", ["be-killed", "give-up"])
def test_result_that_crashes_is_invalid(failure: str) -> None:
    result = confirm(replace(PROBLEM, task=failing_task(TASK)), claimed("halve", failure), BASELINES)
    assert (result.valid, result.fallback, result.cost, result.trace) == (False, "halved", 93.0, ())
    assert result.verified[0].startswith("failed: ")


class MoodySession(CountingSession):
    """Another state in every process."""

    def digest(self) -> str:
        return f"{super().digest()} {os.getpid()}"


def open_moody(program: Program) -> Session:
    return MoodySession(program)


def test_result_that_does_not_repeat_is_invalid() -> None:
    moody = replace(PROBLEM, task=replace(TASK, open=open_moody))
    with pytest.raises(ReplayError, match="two replays of the same trace differ"):
        replay(moody, ("halve",))
    result = confirm(moody, claimed("halve"), BASELINES)
    assert (result.valid, result.fallback) == (False, "halved")


def test_replayed_session_goes_on() -> None:
    session, checks = replay(PROBLEM, ("halve", "b: subtract(1)"))
    assert session.digest() == "a=120 b=76"
    assert checks == ("replayed in two new processes: the same state",)
    session.shutdown()


@pytest.mark.parametrize(("state", "processes"), [("a=120 b=76", 1), ("as an earlier version says", 3)])
def test_one_process_is_enough_where_it_reaches_the_state_of_a_result(
    state: str, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = Mock(side_effect=Sandbox)
    monkeypatch.setattr(problem, "Sandbox", boxes)
    session = replay_result(PROBLEM, replace(claimed("halve", "b: subtract(1)"), state=state))
    assert (session.digest(), boxes.call_count) == ("a=120 b=76", processes)
    session.shutdown()


@pytest.mark.parametrize("objective", ["ir-instructions", "text-bytes"])
def test_llvm_result_is_never_worse_than_the_reference(objective: str) -> None:
    problem = Problem(LLVM, program("hash_table.c"), objective, limits=LIMITS)
    costs = measure_baselines(problem, list(LLVM.baselines))
    found = search(problem, Budget(evaluations=8), method="random")
    result = confirm(problem, found, costs)
    assert result.valid
    assert "LLVM's verifier accepts it" in result.verified
    assert result.cost <= costs["Oz"][objective]
    assert result.fallback == "Oz" or result.cost < costs["Oz"][objective]
    assert set(result.beside) == {*LLVM.exact_objectives} - {objective}


def runnable(rounds: str = "2000") -> Program:
    """Return behave.c, which works for so many rounds."""
    plain = program("behave.c", "O3")
    return Program(
        plain.name, plain.language, plain.content, Workload((run("work", rounds), run("exit", "3")))
    )


SPEED = make_task(Options(level="O3"))


def confirmed(task: Task, source: Program, objective: str, *trace: str, expected: bool = False) -> Result:
    """Return what confirm makes of a trace."""
    found = Result(task.id, source.name, source.digest, objective, "m", 0, trace, 1.0, {}, 1, 0.1, {})
    problem = Problem(task, source, objective, limits=LIMITS)
    costs = measure_baselines(problem, ["O0", "O3"])
    return confirm(problem, found, costs, effort=Effort(repeats=6, confidence=0.9), expected=expected)


def test_outputs_are_compared_with_those_at_o0() -> None:
    result = confirmed(SPEED, runnable(), "text-bytes", "clang<O1>")
    assert result.valid and not result.fallback
    assert "outputs equal -O0's on 2 inputs" in result.verified
    assert result.timing == {}


@pytest.mark.parametrize("objective", ["text-bytes", "seconds"])
def test_wrong_outputs_are_caught(objective: str) -> None:
    source = runnable()
    expecting = Program(
        source.name, source.language, source.content, Workload((run("work", "10", expected=b"7\n"),))
    )
    found = Result(SPEED.id, "p", source.digest, objective, "m", 0, ("clang<O2>",), 1.0, {}, 1, 0.1, {})
    costs = {"O3": dict.fromkeys(SPEED.objectives, 1e9)}
    result = confirm(Problem(SPEED, expecting, limits=LIMITS), found, costs)
    assert (result.valid, result.fallback, result.trace, result.cost) == (False, "O3", (), 1e9)
    assert "behaves differently from -O0: input 'work 10': prints" in result.verified[0]
    assert "expected b'7\\n'" in result.verified[0]


def comparison(verdict: str) -> Comparison:
    """Return what a comparison might say."""
    return Comparison(1.1, 1.05, 1.2, verdict, 0.95, 15, least=(0.11, 0.1))


@pytest.mark.parametrize(("verdict", "kept"), [(FASTER, ""), (NO_DIFFERENCE, "O3"), (SLOWER, "O3")])
def test_candidate_is_better_where_the_comparison_says_so(
    monkeypatch: pytest.MonkeyPatch, verdict: str, kept: str
) -> None:
    monkeypatch.setattr(timing, "compare_times", lambda *_, **__: comparison(verdict))
    result = confirmed(SPEED, runnable(), "seconds", "clang<O1>")
    assert (result.fallback, result.valid) == (kept, True)
    assert (result.cost, result.baselines["O3"]) == (0.11 if kept else 0.1, 0.11)
    assert (result.timing["verdict"], result.timing["against"]) == (verdict, "O3")
    assert (result.timing["low"], result.timing["high"]) == pytest.approx((1.05, 1.2))
    assert Result.from_json(result.to_json()) == result


@pytest.mark.parametrize(("verdict", "kept"), [(FASTER, ""), (NO_DIFFERENCE, ""), (SLOWER, "O3")])
def test_what_a_policy_expects_is_kept_unless_the_comparison_shows_a_loss(
    monkeypatch: pytest.MonkeyPatch, verdict: str, kept: str
) -> None:
    monkeypatch.setattr(timing, "compare_times", lambda *_, **__: comparison(verdict))
    result = confirmed(SPEED, runnable(), "seconds", "clang<O1>", expected=True)
    assert (result.fallback, result.timing["verdict"]) == (kept, verdict)
    assert confirmed(SPEED, runnable(), "seconds", "clang<O3>", expected=True).fallback == "O3"  # identical


@pytest.mark.parametrize("choice", [("clang<O1>",), ("no-such-pass",), None])
def test_the_policys_choice_comes_after_a_search_that_found_nothing_certain(
    monkeypatch: pytest.MonkeyPatch, choice: tuple[str, ...] | None
) -> None:
    def find_guide(*_: object) -> tuple[GuideFor, str]:
        return lambda _: Guide(in_order([("clang<O2>",)]), choice=choice), "guide"

    monkeypatch.setattr(policies, "find_guide", find_guide)
    monkeypatch.setattr(timing, "compare_times", lambda *_, **__: comparison(NO_DIFFERENCE))
    problem, effort = Problem(SPEED, runnable(), "seconds", limits=LIMITS), Effort(repeats=6, confidence=0.9)
    result = optimize(problem, Budget(evaluations=2), baselines=["O0"], effort=effort)
    kept = choice == ("clang<O1>",)
    assert (result.trace, result.fallback) == ((choice, "") if kept else ((), "O3"))


def test_identical_objects_are_no_gain() -> None:
    result = confirmed(SPEED, runnable(), "seconds", "clang<O3>")
    assert (result.fallback, result.timing["verdict"], result.timing["ratio"]) == ("O3", IDENTICAL, 1.0)
    assert result.cost == result.baselines["O3"] > 0


def test_weighted_objective_adds_what_is_exact_to_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is no faster, but smaller, is better by the weight of its size."""
    unclear = Comparison(1.0, 0.99, 1.01, NO_DIFFERENCE, 0.95, 15, 1.002, least=(0.1, 0.1))
    monkeypatch.setattr(timing, "compare_times", lambda *_, **__: unclear)
    result = confirmed(SPEED, runnable(), "text-bytes^0.5*seconds^0.5", "clang<O1>")
    sizes = result.beside["text-bytes"]
    gain = (sizes[str(result.timing["against"])] / sizes["result"]) ** 0.5
    assert gain > 1.1
    assert result.timing["ratio"] == pytest.approx(gain)
    assert result.timing["low"] == pytest.approx(gain * 0.99**0.5)
    assert (result.fallback, result.timing["verdict"]) == ("", FASTER)
    assert result.cost == pytest.approx((sizes["result"] * 0.1) ** 0.5)


def test_weighted_objective_is_compared_with_the_level_that_is_best_in_it() -> None:
    goal = SPEED.objective("text-bytes^0.5*seconds^0.5")
    costs = {"O0": {goal.name: 5.0}, "Oz": {goal.name: 3.0}, "O3": {goal.name: 4.0}}
    assert reference_of(SPEED, goal, costs) == "Oz"
    assert reference_of(SPEED, SPEED.objective("seconds"), costs) == "O3"


class Timed(CountingSession):
    """Takes one second less at each measurement."""

    def __init__(self, order: list[float], first: float) -> None:
        super().__init__(PROGRAM)
        self.order, self.next = order, first

    def measure(self, objective: str, site: str = "") -> float:
        self.order.append(self.next)
        self.next -= 1
        return self.order[-1]


def test_the_baseline_is_measured_before_and_after_each_candidate() -> None:
    """Six rounds; the noise is the median of 20/19, 19/18, ..., 15/14."""
    order: list[float] = []
    baseline, candidate = Timed(order, 20), Timed(order, 10)
    goal = NESTS.objective("seconds")
    gain = measure_gain(NESTS, PROGRAM, goal, baseline, candidate, comparer=Comparer(Effort()))
    assert order == [20, 10, 19, 9, 18, 8, 17, 7, 16, 6, 15, 5, 14]
    assert gain.comparison.repeats == 6 and gain.comparison.verdict == FASTER
    assert (gain.comparison.low, gain.comparison.high) == pytest.approx((2, 3))
    assert gain.comparison.noise == pytest.approx(17.5 / 16.5, rel=2e-3)


def test_compile_time_is_compared_in_turn() -> None:
    result = confirmed(SPEED, runnable(), "compile-seconds", "sroa<modify-cfg>")
    assert (result.timing["verdict"], result.fallback) == (FASTER, "")  # one pass against all of -O3


@pytest.mark.slow  # what it claims takes a quiet machine
def test_real_run_time_against_o3() -> None:
    result = confirmed(SPEED, runnable("30000000"), "seconds", "constmerge")
    assert (result.timing["verdict"], result.fallback) == (SLOWER, "O3")  # as good as not optimized
    high = result.timing["high"]
    assert isinstance(high, float) and high < 1


def test_program_that_cannot_be_run_is_told_before_the_search() -> None:
    with pytest.raises(InputError, match="so it cannot be run"):
        optimize(Problem(SPEED, program("matrix.c"), "seconds"), Budget(evaluations=1))
