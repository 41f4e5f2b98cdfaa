"""Rows survive kills, and failures never count as the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.evaluation.rows import Row, RowFile, parse_rows, read_rows, write_rows
from tests.evaluation.rows import row

FULL = row(
    "a",
    80.0,
    trace=("halve", "b: subtract(1)"),
    curve=((0.1, 1, 100.0), (0.4, 7, 80.0)),
    beside={"largest": (50.0, 40.0)},
    timing={"ratio": 1.25, "low": 1.2, "high": 1.3, "verdict": "faster", "repeats": 15},
    checks=("replayed",),
    seconds=1.2,
    budget_seconds=1.0,
)


def test_row_survives_json() -> None:
    assert Row.from_json(FULL.to_json()) == FULL
    assert Row.from_json(FULL.to_json()).to_json() == FULL.to_json()
    assert "\n" not in row("a\nb\u2028c", 1.0).to_json()


@pytest.mark.parametrize(
    ("unoptimized", "counted"), [(300.0, 300.0), (150.0, 200.0), (100.0, 200.0), (1.0, 200.0)]
)
def test_failure_is_never_as_good_as_the_reference(unoptimized: float, counted: float) -> None:
    """It costs what the program costs unoptimized, and at least twice what the reference does."""
    failed = row("a", None, unoptimized_cost=unoptimized)
    assert (failed.counted_cost, failed.ratio, failed.guarded) == (counted, 100 / counted, 1.0)
    assert (failed.valid, failed.is_better, failed.is_worse) == (False, False, True)


@pytest.mark.parametrize(
    ("cost", "ratio", "guarded", "better", "worse"),
    [(80.0, 1.25, 1.25, True, False), (100.0, 1.0, 1.0, False, False), (125.0, 0.8, 1.0, False, True)],
)
def test_ratio_and_guard(cost: float, ratio: float, guarded: float, better: bool, worse: bool) -> None:
    found = row("a", cost)
    assert (found.ratio, found.guarded, found.is_better, found.is_worse) == (ratio, guarded, better, worse)


@pytest.mark.parametrize(
    ("verdict", "guarded", "better", "worse"),
    [
        ("faster", 1.1, True, False),
        ("no difference beyond noise", 1.0, False, False),
        ("slower", 1.0, False, True),
    ],
)
def test_noisy_row_is_better_where_an_interval_says_so(
    verdict: str, guarded: float, better: bool, worse: bool
) -> None:
    found = row("a", 100.0, timing={"ratio": 1.1, "low": 1.05, "high": 1.2, "verdict": verdict})
    assert (found.ratio, found.guarded, found.is_better, found.is_worse) == (1.1, guarded, better, worse)


def test_overrun_is_what_goes_beyond_the_budget() -> None:
    assert FULL.overrun == pytest.approx(0.2)
    assert row("a", 1.0, seconds=0.5, budget_seconds=1.0).overrun == 0
    assert row("a", 1.0, seconds=9.0).overrun == 0  # the budget was a number of evaluations


def test_half_a_line_of_a_killed_process_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    first, second = row("a", 1.0), row("b", 2.0)
    path.write_bytes(write_rows([first]) + second.to_json()[:50].encode())
    assert read_rows(path) == [first]
    file = RowFile(path)
    file.append(second)
    file.close()
    assert read_rows(path) == [first, second]


def test_the_later_row_of_a_key_counts() -> None:
    assert parse_rows(write_rows([row("a", 1.0), row("a", 2.0)]), "x") == [row("a", 2.0)]


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"programme": 1}', '{"curve": 1}'])
def test_what_is_no_row_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{FULL.to_json()}\n{line}\n")
    with pytest.raises(InputError, match=r"rows.jsonl, line 2: not a row of an evaluation"):
        read_rows(path)


def test_no_file_has_no_rows(tmp_path: Path) -> None:
    assert read_rows(tmp_path / "rows.jsonl") == []
    with pytest.raises(InputError, match="cannot write there"):
        RowFile(tmp_path / "nowhere" / "rows.jsonl")
