"""The tables of an evaluation: what people read."""

from __future__ import annotations

import re

import pytest

from burnish.cli.show.evaluate_folder import print_tables
from burnish.console.table_forms import TableForm
from tests.evaluation.rows import row


def lines(text: str) -> list[list[str]]:
    """Return the first two cells of each line: the method, and its ratio."""
    return [re.split(r"\s{2,}| \[", line.strip())[:2] for line in text.splitlines()]


def test_c_and_cpp_are_below_each_method(capsys: pytest.CaptureFixture[str]) -> None:
    costs = {"a.c": (50.0, 100.0), "b.cc": (25.0, 100.0), "c.cc": (100.0, 50.0)}
    rows = [row(name, cost[i], method="mn"[i]) for i in range(2) for name, cost in costs.items()]
    print_tables(rows, confidence=0.95, form=TableForm())
    found = lines(capsys.readouterr().out)
    start = found.index(["m", "2.000"])
    assert found[start : start + 3] == [["m", "2.000"], ["C: 1", "2.000"], ["C++: 2", "2.000"]]
    assert found[start + 3 : start + 6] == [["n", "1.260"], ["C: 1", "1.000"], ["C++: 2", "1.414"]]


def test_programs_of_one_language_have_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([row("a.c", 50.0), row("b.c", 50.0)], confidence=0.95, form=TableForm())
    assert "C: " not in capsys.readouterr().out


def test_what_was_compared_is_said_of_those_alone_that_were(capsys: pytest.CaptureFixture[str]) -> None:
    """Outputs are not said to be equal and not compared at once; what holds for all names nobody."""
    checks = {
        "a.c": ("the same state", "outputs equal"),
        "b.c": ("the same state", "outputs were not compared"),
    }
    print_tables(
        [row(name, 50.0, checks=found) for name, found in checks.items()], confidence=0.95, form=TableForm()
    )
    shown = capsys.readouterr().out.splitlines()
    assert "The same state." in shown
    assert "Outputs equal (1 of 2 results: a.c)." in shown
    assert "Outputs were not compared (1 of 2 results: b.c)." in shown
