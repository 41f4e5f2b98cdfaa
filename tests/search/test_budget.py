"""Budgets are read as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.errors import InputError
from burnish.search import Budget
from burnish.search.budget import written


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("10s", Budget(seconds=10)),
        ("0.5s", Budget(seconds=0.5)),
        ("2m", Budget(seconds=120)),
        ("500", Budget(evaluations=500)),
        ("500 evaluations", Budget(evaluations=500)),
        ("10s, 500evaluations", Budget(seconds=10, evaluations=500)),
        ("10s,500", Budget(seconds=10, evaluations=500)),
        ("500, 2m", Budget(seconds=120, evaluations=500)),
        ("0", Budget(evaluations=0)),
        ("100 evaluations", Budget(evaluations=100)),
        ("1 evaluation", Budget(evaluations=1)),
        ("2 s, 100 evaluations", Budget(seconds=2, evaluations=100)),
    ],
)
def test_budget_is_read(text: str, budget: Budget) -> None:
    assert Budget.parse(text) == budget


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2s", "2s"),
        ("2m", "120s"),
        (".5s", "0.5s"),
        ("100", "100 evaluations"),
        ("1 evaluation", "1 evaluation"),
        ("500,2.0s", "2s, 500 evaluations"),
        ("short", "short"),
        ("2s|5xOz", "2s|5xOz"),
    ],
)
def test_budget_is_written_one_way(text: str, said: str) -> None:
    assert written(text) == said == written(said)


@pytest.mark.parametrize(
    "text",
    [
        "1s,2s",
        "5,6",
        "1e3",
        "10 0s",
        "",
        ",",
        "s",
        "10h",
        "10ss",
        "1.5",
        "ten",
        "nan",
        "nans",
        "infs",
        "inf",
        "-5s",
        "-5",
        "evaluations",
    ],
)
def test_nonsense_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        Budget.parse(text)


@given(st.text(max_size=12))
def test_any_text_is_a_budget_or_an_input_error(text: str) -> None:
    try:
        budget = Budget.parse(text)
    except InputError:
        return
    assert budget.seconds is not None or budget.evaluations is not None


def test_budget_without_limit_is_refused() -> None:
    with pytest.raises(InputError, match="seconds, evaluations or both"):
        Budget()
