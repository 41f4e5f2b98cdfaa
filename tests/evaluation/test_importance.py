"""Which passes matter: by hand, and with the counting task."""

from __future__ import annotations

import math

import pytest

from burnish.evaluation.importance import (
    Importance,
    effects_of_sample,
    importances,
    pass_name,
    trace_effects,
    winning,
)
from burnish.evaluation.rows import Row
from burnish.search.problem import Problem
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK, counters
from tests.evaluation.rows import row

pytestmark = pytest.mark.usefixtures("nothing_left")
LIMITS = Limits(deadline_seconds=20)


def counting(text: str) -> Problem:
    return Problem(TASK, counters(text), "total", limits=LIMITS)


def of_row(row: Row) -> Problem:
    return counting(row.program)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("sroa", "sroa"),
        ("clang<Oz;inline-threshold=0>", "clang"),
        ("std::pair<int, int>::f(): x: simplifycfg<sink-common-insts>", "simplifycfg"),
        ("tile(i, 32)", "tile"),
    ],
)
def test_name_has_no_site_and_no_parameters(entry: str, name: str) -> None:
    assert pass_name(entry) == name


def test_shares_are_of_winning_traces() -> None:
    rows = [
        row("a", 50.0, trace=("x<1>", "y", "f: x<2>")),
        row("b", 60.0, trace=("y", "z")),
        row("c", 100.0, trace=("lost",)),
        row("d", None, trace=("failed",)),
        row("e", 50.0, fallback="Os"),
    ]
    assert [item.program for item in winning(rows)] == ["a", "b"]
    found = importances(rows, [{"x": 0.2, "gone": 1.0}, {"x": 0.4, "y": 0.1}])
    assert found[1].effect == pytest.approx(0.3)
    assert found == [
        Importance("y", 1.0, 0.1, 1),
        Importance("x", 0.5, found[1].effect, 2),
        Importance("z", 0.5),
    ]


def test_the_effect_of_a_pass_is_the_cost_of_the_rest_without_it() -> None:
    """a=12: halved twice 3, then 0; the cost is 1 + a. Without one halving 6 - 3 = 3, without the rest 3."""
    effects = trace_effects(counting("a=12"), ("halve", "halve", "subtract(3)"))
    assert effects == {
        "halve": pytest.approx(2 * math.log(4 / 1)),
        "subtract": pytest.approx(math.log(4 / 1)),
    }


def test_an_entry_that_the_rest_needs_has_no_effect() -> None:
    """6, 3, 2, 1, 0: without the first halving or the first subtraction a later halving is illegal.

    Without any of the other two, 1 is left, which costs 2.
    """
    trace = ("halve", "subtract(1)", "halve", "subtract(1)")
    effects = trace_effects(counting("a=6"), trace)
    assert effects == {"halve": pytest.approx(math.log(2)), "subtract": pytest.approx(math.log(2))}


def test_sample_leaves_out_what_cannot_be_taken_apart() -> None:
    good = row("a=12", 50.0, trace=("halve", "halve"))
    bad = row("a=5", 50.0, trace=("halve", "divide"))
    long = row("a=6", 50.0, trace=("add(1)",) * 41)
    seen: list[Row] = []
    found = effects_of_sample([good, bad, long], of_row, 9, 0, note=seen.append)
    assert found == [{"halve": pytest.approx(2 * math.log(7 / 4))}]
    assert {item.program for item in seen} == {"a=12", "a=5"}
    assert effects_of_sample([good, bad, long], of_row, 0, 0) == []
