"""Methods are compared on the same programs, and whatever happens to one is a row."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.core.task import SearchHints, Task
from burnish.evaluation import compare
from burnish.evaluation.budgets import BudgetRule
from burnish.evaluation.cases import Case, cases_of, sampled
from burnish.evaluation.compare import (
    Attempt,
    Figures,
    MethodComparison,
    Refused,
    attempts_at,
    compare_methods,
    make_attempt,
    measure_program,
)
from burnish.evaluation.rows import Row
from burnish.evaluation.solvers import Solver, check_methods, solver_of
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task

pytestmark = pytest.mark.usefixtures("nothing_left")

PROGRAMS = [counters(text) for text in ("a=240 b=77", "a=12", "a=5 b=6")]
CASES = [Case(program.name, "p", PROGRAMS, index) for index, program in enumerate(PROGRAMS)]
LIMITS = Limits(deadline_seconds=20)


def plan(
    *methods: str, task: Task = TASK, budgets: Sequence[str] = ("12",), seed: int = 0
) -> MethodComparison:
    """Return a plan for the counting task."""
    rules = tuple(BudgetRule.parse(text, task) for text in budgets)
    return MethodComparison(task, "total", methods, rules, seed, LIMITS)


def rows_of(items: Iterator[Row | Figures | Refused]) -> list[Row]:
    """Return the rows among what an evaluation yields."""
    return [item for item in items if isinstance(item, Row)]


def timeless(row: Row) -> Row:
    """Return a row without what the clock says."""
    curve = tuple((0.0, evaluations, cost) for _, evaluations, cost in row.curve)
    return replace(row, seconds=0.0, curve=curve)


def test_rows_are_those_of_the_searches() -> None:
    rows = rows_of(compare_methods(plan("random", "genetic"), CASES[:2]))
    assert len(rows) == 4 and all(row.valid for row in rows)
    row = next(row for row in rows if row.method == "random" and row.program == "a=240 b=77")
    found = search(Problem(TASK, PROGRAMS[0]), Budget(evaluations=12, workers=1), method="random")
    assert (row.cost, row.evaluations) == (found.cost, 12)
    assert (row.reference, row.reference_cost, row.unoptimized_cost) == ("halved", 93.0, 318.0)
    assert row.checks == (
        "replayed in two new processes: the same state",
        "outputs were not compared: the program was not run",
    )
    assert (row.project, row.budget, row.budget_seconds, row.failure) == ("p", "12 evaluations", None, "")
    assert row.beside.keys() == {"largest"}


def test_curve_falls_to_the_cost() -> None:
    for row in rows_of(compare_methods(plan("random", "greedy"), CASES[:1])):
        costs = [cost for _, _, cost in row.curve]
        assert costs == sorted(set(costs), reverse=True) and costs[-1] == row.cost
        assert [point[1] for point in row.curve] == sorted({point[1] for point in row.curve})


def test_rows_do_not_depend_on_the_jobs() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    methods = plan("random")
    one, two = (map(timeless, rows_of(compare_methods(methods, CASES[1:], jobs=jobs))) for jobs in (1, 2))
    assert sorted(one, key=lambda row: row.key) == sorted(two, key=lambda row: row.key)


def test_methods_take_turns_in_being_first() -> None:
    asked = plan("a", "b", "c", budgets=("1s", "2s"))
    orders = [[(one.rule.text, one.method) for one in attempts_at(asked, number)] for number in range(4)]
    assert orders[0] == [("1s", "a"), ("1s", "b"), ("1s", "c"), ("2s", "a"), ("2s", "b"), ("2s", "c")]
    assert orders[1] == [("1s", "b"), ("1s", "c"), ("1s", "a"), ("2s", "b"), ("2s", "c"), ("2s", "a")]
    assert orders[3] == orders[0]


def test_baseline_is_a_method() -> None:
    start, halved = rows_of(compare_methods(plan("start", "halved"), CASES[:1]))
    assert (start.cost, start.ratio, start.fallback, start.trace) == (318.0, 93 / 318, "start", ())
    assert (halved.ratio, halved.state) == (1.0, "a=15 b=77")


def test_finished_attempts_are_not_made_again() -> None:
    methods = plan("random", "halved")
    items = list(compare_methods(methods, CASES[:2]))
    figures = {item.program: item for item in items if isinstance(item, Figures)}
    rows = [item for item in items if isinstance(item, Row)]
    done = {(row.program, row.method) for row in rows[:3]}
    again = list(
        compare_methods(
            methods,
            CASES[:2],
            is_done=lambda program, attempt: (program.name, attempt.method) in done,
            known=lambda program: figures[program.name],
        )
    )
    assert [timeless(row) for row in again if isinstance(row, Row)] == [timeless(rows[3])]
    assert len(again) == 1  # nothing was measured again


def test_budget_of_time_needs_the_pipeline() -> None:
    figures, row = list(compare_methods(plan("halved", budgets=("1s|5xhalved",)), CASES[:1]))
    assert isinstance(figures, Figures) and isinstance(row, Row)
    assert figures.pipeline_seconds.keys() == {"halved"}
    assert row.budget_seconds == max(1.0, round(5 * figures.pipeline_seconds["halved"], 4))


class Deadly(tuple):  # type: ignore[type-arg]
    """Initial traces that kill the process that looks at them, which is the search's."""

    def __iter__(self) -> Iterator[Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().__iter__()


class Defect(tuple):  # type: ignore[type-arg]
    """Initial traces that are a defect in a search."""

    def __iter__(self) -> Iterator[Any]:
        raise ZeroDivisionError("a defect")


@pytest.mark.parametrize(
    ("initial_traces", "said"), [(Deadly(), "signal SIGKILL"), (Defect(), "ZeroDivisionError: a defect")]
)
def test_method_that_ends_its_process_is_a_failure_and_the_others_go_on(
    initial_traces: tuple[Any, ...], said: str
) -> None:
    task = replace(TASK, hints=SearchHints(initial_traces))
    rows = rows_of(compare_methods(plan("halved", "random", "start", task=task), CASES[:1]))
    assert [(row.method, row.valid) for row in rows] == [("halved", True), ("random", False), ("start", True)]
    failed = rows[1]
    assert said in failed.failure
    assert (failed.cost, failed.counted_cost, failed.ratio) == (None, 318.0, 93 / 318)


def test_program_without_a_reference_is_in_no_figure() -> None:
    broken = [counters("a=x"), PROGRAMS[1]]
    cases = [Case("bad", "p", broken), Case(PROGRAMS[1].name, "p", broken, 1)]
    refused, _, row = list(compare_methods(plan("halved"), cases))
    assert isinstance(refused, Refused) and "expected counters" in refused.reason
    assert isinstance(row, Row) and row.program == "a=12"


def claims(monkeypatch: pytest.MonkeyPatch, cost: float, *trace: str) -> Solver:
    """Have every method claim that a trace costs so much."""

    def solve(problem: Problem, *_: object) -> Result:
        task, program = problem.task, problem.program
        return Result(
            task.id, program.name, program.digest, problem.goal.name, "liar", 0, trace, cost, {}, 5, 0.1, {}
        )

    monkeypatch.setattr(compare, "solver_of", lambda *_: solve)
    return solve


def attempted(task: Task = TASK) -> Row:
    """Return the row of an attempt at the first program, made in this process."""
    asked = plan("random", task=task)
    problem = asked.problem(PROGRAMS[0], {})
    figures = measure_program(asked, CASES[0], problem)
    return make_attempt(asked, CASES[0], problem, figures, Attempt("random", asked.budgets[0]))


def test_honest_claim_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    claims(monkeypatch, 197.0, "a: halve", "b: subtract(1)", "b: add(1)", "b: subtract(1)")
    row = attempted()
    assert (row.cost, row.valid) == (197.0, True)


@pytest.mark.parametrize("cost", [50.0, 198.0])
def test_claim_that_is_not_what_was_replayed_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, cost: float
) -> None:
    claims(monkeypatch, cost, "a: halve", "b: subtract(1)")
    row = attempted()
    assert not row.valid and row.ratio == 93 / 318
    assert row.failure == f"liar reported the cost {cost:g} for its trace; the replay costs 197"


@pytest.mark.parametrize("failure", ["be-killed", "give-up"])
def test_trace_that_does_not_survive_its_replay_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    claims(monkeypatch, 198.0, "a: halve", failure)
    row = attempted(failing_task(TASK))
    assert not row.valid and row.failure
    assert row.evaluations == 5


def test_method_that_found_nothing_is_the_unoptimized_program(monkeypatch: pytest.MonkeyPatch) -> None:
    claims(monkeypatch, float("inf"))
    row = attempted()
    assert (row.valid, row.cost, row.trace) == (True, 318.0, ())


def test_more_jobs_than_cores_are_refused() -> None:
    with pytest.raises(InputError, match="1000 jobs: expected 1 to"):
        list(compare_methods(plan("halved"), CASES, jobs=1000))


def test_methods_are_looked_up_first() -> None:
    assert check_methods(["random", "halved", "genetic@none"], TASK, "total") == {}
    with pytest.raises(UnknownName, match="did you mean 'random'"):
        check_methods(["halved", "randm"], TASK, "total")
    with pytest.raises(InputError, match="each only once"):
        check_methods(["random", "random"], TASK, "total")
    with pytest.raises(UnknownName, match="no policy named 'nothing'"):
        solver_of("genetic@nothing", TASK)
    with pytest.raises(UnknownName, match="no method named 'halved@none'"):
        solver_of("halved@none", TASK)
    with pytest.raises(InputError, match=r"no policy is shipped for total of counting-v\d+; leave @"):
        check_methods(["genetic@shipped"], TASK, "total")
    of_passes = check_methods(["mixed@shipped"], LLVM, "loaded-bytes")
    both = load_task("llvm_passes_and_codegen")  # whose first stage has a policy
    assert check_methods(["mixed@shipped"], both, "loaded-bytes") == of_passes


def test_cases_have_projects() -> None:
    cases = cases_of(["tests/data/matrix.c", "random:3..4", "kernels:fft@small", "random:4"], LLVM)
    assert [(case.name, case.project) for case in cases] == [
        ("tests/data/matrix.c", "data"),
        ("random:3:1000", "3:1000"),
        ("random:4:1000", "4:1000"),
        ("kernels:fft@small", "fft"),
    ]
    assert cases[0].load().name == "tests/data/matrix.c"
    assert cases[0].variants().keys() == {"O0"} and not cases[1].variants()
    assert cases[3].variants()["O0"].digest != cases[3].load().digest


def test_sample_is_drawn_by_the_seed() -> None:
    cases = [Case(str(number), "p", ()) for number in range(20)]
    one = sampled(cases, 5, 1)
    assert one == sampled(cases, 5, 1) != sampled(cases, 5, 2)
    assert [int(case.name) for case in one] == sorted(int(case.name) for case in one)
    assert sampled(cases, None, 0) == sampled(cases, 99, 0) == cases


def test_llvm_rows_have_the_other_sizes_beside() -> None:
    (case,) = cases_of(["tests/data/hash_table.c"], LLVM)
    asked = replace(plan("random", task=LLVM, budgets=("8",)), objective="ir-instructions")
    (row,) = rows_of(compare_methods(asked, [case]))
    assert row.valid and row.beside.keys() >= {"text-bytes", "object-bytes", "loaded-bytes"}
    assert "LLVM's verifier accepts it" in row.checks
