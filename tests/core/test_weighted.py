"""Weighted objectives are weighted geometric means: units do not matter, and log rewards add up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.errors import InputError, UnknownName
from burnish.core.objective import Objective, parse_objective
from tests.core.counting_task import TASK, counters, open_counters

TEXT = "total^0.75*largest^0.25"


def test_one_objective_is_itself() -> None:
    assert parse_objective("text-bytes").exponents == {"text-bytes": 1.0}
    assert not parse_objective("text-bytes").is_weighted
    assert not parse_objective("text-bytes^1").is_weighted
    assert TASK.objective("total") is TASK.objectives["total"]


def test_text_is_read() -> None:
    assert parse_objective("a^0.7*b^0.3").exponents == {"a": 0.7, "b": 0.3}
    assert parse_objective(" a^0.5 * b^.25*c^2.5e-1 ").exponents == {"a": 0.5, "b": 0.25, "c": 0.25}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a*b", "'a' has no exponent"),
        ("a^0.7*b", "'b' has no exponent"),
        ("a^x*b^0.5", r"'a\^x' has no exponent"),
        ("a^0.7*b^0.7", "add up to 1.4"),
        ("a^1.5*b^-0.5", r"'b\^-0.5' is empty, repeated or not above 0"),
        ("a^0.5*a^0.5", "repeated"),
        ("^0.5*b^0.5", "empty"),
        ("a^nan*b^0.5", "not above 0"),
        ("a^inf*b^0.5", "not above 0"),
        ("*", "'' has no exponent"),
    ],
)
def test_bad_text_is_told(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_objective(text)
    with pytest.raises(InputError, match="such as 'bytes"):
        TASK.objective(text)


def test_unknown_part_is_told() -> None:
    with pytest.raises(UnknownName, match="did you mean 'total'"):
        TASK.objective("totale^0.5*largest^0.5")


def test_objective_has_the_worst_of_its_parts() -> None:
    known = {
        "a": Objective("a", "bytes", ""),
        "b": Objective("b", "seconds", "", False, by_site=False, noisy=True, needs_workload=True),
    }
    goal = parse_objective("a^0.50*b^0.5").objective(known)
    assert (goal.name, goal.unit) == ("a^0.5*b^0.5", "bytes^0.5 * seconds^0.5")
    assert (goal.dense, goal.by_site, goal.noisy) == (False, False, True)
    assert (goal.needs_workload, goal.exact) == (True, False)
    assert known["a"].exact and not known["b"].exact
    assert parse_objective(goal.name).exponents == parse_objective("a^0.5*b^0.5").exponents


def test_name_keeps_the_exponents_exactly() -> None:
    known = {name: Objective(name, "", "") for name in "ab"}
    text = f"a^{1 / 3}*b^{2 / 3}"
    assert (
        parse_objective(parse_objective(text).objective(known).name).exponents
        == parse_objective(text).exponents
    )


def test_cost_is_the_weighted_geometric_mean() -> None:
    assert parse_objective("a^0.75*b^0.25").cost({"a": 16.0, "b": 81.0}.__getitem__) == pytest.approx(8 * 3)
    session = open_counters(counters("a=15 b=7"))
    assert session.measure(TEXT) == pytest.approx(23**0.75 * 16**0.25)
    assert session.measure(TEXT, "a") == pytest.approx(15)
    assert session.site_costs(TEXT) == pytest.approx({"a": 15.0, "b": 7.0})


@given(
    before=st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)),
    after=st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)),
    weight=st.floats(0.01, 0.99),
    unit=st.floats(1e-3, 1e3),
)
def test_log_reward_is_the_weighted_sum(
    before: tuple[float, float], after: tuple[float, float], weight: float, unit: float
) -> None:
    text = f"a^{weight}*b^{1 - weight}"

    def cost(values: tuple[float, float], scale: float = 1.0) -> float:
        return parse_objective(text).cost({"a": values[0] * scale, "b": values[1]}.__getitem__)

    reward = math.log(cost(before) / cost(after))
    parts = weight * math.log(before[0] / after[0]) + (1 - weight) * math.log(before[1] / after[1])
    assert reward == pytest.approx(parts, abs=1e-9)
    assert math.log(cost(before, unit) / cost(after, unit)) == pytest.approx(reward, abs=1e-9)
