"""Objectives within a limit."""

from __future__ import annotations

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.core.objective import Formula, Limit, parse_growth, parse_objective
from burnish.tasks.llvm_passes import TASK

TEXT = "loaded-bytes while slowdown<=1.05"


def test_a_text_says_what_is_minimised_and_what_is_limited() -> None:
    both = (Limit("slowdown", 1.05), Limit("code-growth", 1))
    assert parse_objective(TEXT) == Formula({"loaded-bytes": 1.0}, both[:1])
    assert parse_objective("loaded-bytes") == Formula({"loaded-bytes": 1.0})
    assert parse_objective(f"{TEXT} and code-growth<=1").limits == both
    assert parse_objective(TEXT).unlimited == "loaded-bytes"
    assert parse_objective(TEXT).names == {"loaded-bytes", "slowdown"}
    assert Formula({"loaded-bytes": 1.0}, both).text == f"{TEXT} and code-growth<=1"
    assert TASK.objective("loaded-bytes  while  slowdown <= 1.050").name == TEXT


def test_within_the_limit_a_cost_is_the_objectives_and_beyond_it_more_than_double() -> None:
    limit = Limit("slowdown", 1.25)
    assert [limit.cost(100, measured) for measured in (0.5, 1.0, 1.25)] == [100, 100, 100]
    assert limit.cost(100, 2.5) == 800
    assert 200 < limit.cost(100, 1.26) < limit.cost(100, 1.3)


def test_a_limited_objective_is_as_noisy_and_as_costly_as_its_parts() -> None:
    both = TASK.objective(TEXT)
    assert (both.unit, both.dense, both.by_site, both.exact) == ("bytes", False, True, True)
    timed = TASK.objective("ir-instructions while seconds<=2.5")
    assert (timed.dense, timed.by_site, timed.noisy, timed.needs_workload) == (False, False, True, True)
    traded = TASK.objective("text-bytes^0.5*ir-instructions^0.5 while slowdown<=1.1")
    assert traded.name == "text-bytes^0.5*ir-instructions^0.5 while slowdown<=1.1"


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "slowdown",
        "slowdown<=",
        "slowdown<=2 and",
        "and slowdown<=2",
        "slowdown<=fast",
        "slowdown<=-1",
        "slowdown<2",
        "<=2",
    ],
)
def test_what_is_no_limit_is_told(rest: str) -> None:
    with pytest.raises(InputError, match="expected an objective, 'while'"):
        TASK.objective(f"loaded-bytes while {rest}")


def test_the_nearest_name_is_told() -> None:
    with pytest.raises(UnknownName, match="did you mean 'slowdown'"):
        TASK.objective("loaded-bytes while slowdow<=1.05")
    with pytest.raises(UnknownName, match="did you mean 'loaded-bytes'"):
        TASK.objective("loaded-byte while slowdown<=1.05")


def test_per_cent_are_read() -> None:
    assert [parse_growth(text) for text in ("5%", "0 %", "12.5%", "none")] == [1.05, 1.0, 1.125, None]


@pytest.mark.parametrize("text", ["", "5", "-5%", "five%", "%", "None"])
def test_what_is_no_per_cent_is_told(text: str) -> None:
    with pytest.raises(InputError, match="expected a percentage, such as 5%, or none"):
        parse_growth(text)
