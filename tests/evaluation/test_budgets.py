"""Budgets by what a program's own pipeline takes."""

from __future__ import annotations

import time
from functools import partial

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.evaluation.budgets import BudgetRule, median_seconds, pipeline_seconds
from burnish.search import Budget
from burnish.search.budget import written
from burnish.tasks.llvm_passes import TASK, Options, make_task
from burnish.workers.worker import Worker
from tests.core.counting_task import TASK as COUNTING
from tests.core.counting_task import counters, open_counters
from tests.sources import program


@pytest.mark.parametrize(
    ("text", "small", "large"),
    [
        ("short", Budget(1.0), Budget(10.0)),
        ("long", Budget(10.0), Budget(100.0)),
        ("10s", Budget(10.0), Budget(10.0)),
        ("2m", Budget(120.0), Budget(120.0)),
        ("500", Budget(None, 500), Budget(None, 500)),
        ("3s|2xOz", Budget(3.0), Budget(4.0)),
        ("2xOz", Budget(0.02), Budget(4.0)),
        ("0.5s | 1xO3 | 2xOz", Budget(0.5), Budget(4.0)),
        ("1s,500", Budget(1.0, 500), Budget(1.0, 500)),
        ("500 evaluations", Budget(None, 500), Budget(None, 500)),
    ],
)
def test_budget_of_a_small_and_a_large_program(text: str, small: Budget, large: Budget) -> None:
    rule = BudgetRule.parse(text, TASK)
    assert rule.budget({"Oz": 0.01, "O3": 0.02}) == small
    assert rule.budget({"Oz": 2.0, "O3": 3.0}) == large
    assert rule.text == written(text)


def test_short_is_of_the_tasks_reference() -> None:
    assert BudgetRule.parse("short", make_task(Options(level="O3"))).multiples == {"O3": 5.0}


@pytest.mark.parametrize("text", ["", "shorter", "5x", "1s|", "x", "1.5", "-1s"])
def test_other_texts_are_told(text: str) -> None:
    with pytest.raises(InputError, match="expected short, long"):
        BudgetRule.parse(text, TASK)


def test_unknown_baseline_is_told() -> None:
    with pytest.raises(UnknownName, match=r"no baseline named 'Ox'"):
        BudgetRule.parse("1s|5xOx", TASK)


def open_after(program: Program, seconds: float) -> Session:
    time.sleep(seconds)
    return open_counters(program)


def test_median_is_of_each_opener() -> None:
    _, slow = median_seconds([partial(open_after, seconds=s) for s in (0.0, 0.02)], counters("a=1"))
    assert slow >= 0.02


@pytest.mark.usefixtures("nothing_left")
def test_pipeline_is_measured_without_reading_the_program() -> None:
    worker = Worker()
    try:
        assert pipeline_seconds(COUNTING, counters("a=1"), [], worker) == {}
        found = pipeline_seconds(TASK, program("hash_table.c"), ["Oz", "O0"], worker)
    finally:
        worker.close()
    assert found.keys() == {"Oz", "O0"}
    assert found["O0"] >= 0 and found["Oz"] >= 0
