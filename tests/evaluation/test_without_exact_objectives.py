"""A task whose only objective is noisy, without initial traces, that asks: it is evaluated all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from burnish.core.errors import InputError
from burnish.core.result import Result
from burnish.evaluation.budgets import BudgetRule
from burnish.evaluation.cases import Case
from burnish.evaluation.compare import MethodComparison, compare_methods
from burnish.evaluation.confirm import confirm, measure_baselines
from burnish.evaluation.evaluate import evaluate_result, summarise
from burnish.evaluation.rows import Row
from burnish.evaluation.timing import FASTER, Comparer, Effort
from burnish.evaluation.verify import measure_row
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.workers.worker import Limits
from tests.core.asking_task import TASK, calls, optimum

pytestmark = pytest.mark.usefixtures("nothing_left")

PROGRAM = calls("main 4: f f g; f 2: h; g 6: h; h 5:")
QUICK = Effort(repeats=6, confidence=0.9)
LIMITS = Limits(deadline_seconds=20)
PROBLEM = Problem(TASK, PROGRAM, limits=LIMITS)


def found() -> Result:
    return search(PROBLEM, Budget(evaluations=80, workers=1), method="greedy")


def test_what_was_found_is_confirmed_by_an_interval() -> None:
    baselines = measure_baselines(PROBLEM, ["heuristic"])
    confirmed = confirm(PROBLEM, found(), baselines, effort=QUICK)
    assert confirmed.valid
    assert (confirmed.cost, confirmed.baselines) == (optimum(PROGRAM), {"heuristic": 31})
    assert confirmed.timing["verdict"] == FASTER
    assert confirmed.beside == {}
    kept = confirm(PROBLEM, replace(found(), trace=()), baselines, effort=QUICK)
    assert (kept.cost, kept.fallback) == (31, "heuristic")


def test_results_are_evaluated_against_baselines() -> None:
    rows = evaluate_result(PROBLEM, found(), ["never", "heuristic"], comparer=Comparer(QUICK))
    assert [row.noisy["size"].ratio for row in rows] == pytest.approx([32 / 20, 31 / 20])
    assert all(row.sizes == {} and not row.failure for row in rows)
    means = summarise(rows, confidence=0.9)
    assert [(mean.objective, mean.against) for mean in means] == [("size", "never"), ("size", "heuristic")]
    empty = replace(found(), trace=())
    (same,) = evaluate_result(PROBLEM, empty, ["heuristic"], comparer=Comparer(QUICK))
    assert same.noisy["size"].ratio == 1
    assert same.noisy["size"].verdict != FASTER


def test_methods_are_compared_and_their_rows_verified() -> None:
    case = Case(PROGRAM.name, "p", [PROGRAM], 0)
    rules = (BudgetRule.parse("60", TASK),)
    plan = MethodComparison(TASK, "size", ("greedy", "random"), rules, 0, LIMITS, QUICK)
    rows = [item for item in compare_methods(plan, [case]) if isinstance(item, Row)]
    assert {row.method for row in rows} == {"greedy", "random"}
    assert all(not row.failure and row.cost is not None and row.cost < 31 for row in rows)
    for row in rows:
        assert measure_row(PROBLEM, row) == row
        other = measure_row(PROBLEM, replace(row, trace=()))
        assert other.state != row.state
    with pytest.raises(InputError, match="not the program that the row is of"):
        measure_row(replace(PROBLEM, program=calls("main 1:")), rows[0])
