"""A leaderboard can be checked: what was tampered with is caught."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import InputError
from burnish.evaluation.budgets import BudgetRule
from burnish.evaluation.cases import Case, sampled
from burnish.evaluation.compare import MethodComparison, compare_methods
from burnish.evaluation.leaderboard import (
    Entry,
    Provenance,
    append_rows,
    figures_of,
    programs_digest,
    read_leaderboard,
    rows_of_entry,
    text_digest,
)
from burnish.evaluation.rows import Row, write_rows
from burnish.evaluation.verify import Replays, verify_entry
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK, counters
from tests.evaluation.rows import row

pytestmark = pytest.mark.usefixtures("nothing_left")

PROGRAMS = [counters(text) for text in ("a=240 b=77", "a=12", "a=5 b=6")]
CASES = [Case(program.name, f"project {index}", PROGRAMS, index) for index, program in enumerate(PROGRAMS)]
ORIGIN = Provenance("", "burnish evaluate ...", TASK.id, {}, {"burnish": "0"}, ("all",))
LIMITS = Limits(deadline_seconds=20)
HAND_MADE = [
    row("a", 50.0, project="x", curve=((0.1, 1, 50.0),)),
    row("b", 200.0, project="y"),
    row("c", None, project="y"),
]


@pytest.fixture(scope="module")
def real() -> list[Row]:
    """Return rows of a search and a baseline on three programs."""
    plan = MethodComparison(TASK, "total", ("random", "start"), (BudgetRule.parse("8", TASK),), 0, LIMITS)
    return [item for item in compare_methods(plan, CASES) if isinstance(item, Row)]


def problems(path: Path, entry: Entry, cases: list[Case] = CASES, **options: Any) -> list[str]:
    """Return what is wrong with an entry."""
    return list(verify_entry(path, entry, TASK, cases, replays=Replays(**options, limits=LIMITS)))


def test_entry_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "board.jsonl"
    (entry,) = append_rows(path, HAND_MADE, ORIGIN, date="2026-11-21")
    assert read_leaderboard(path) == [entry]
    assert (entry.name, entry.method, entry.budget, entry.date) == ("m", "m", "10 evaluations", "2026-11-21")
    assert entry.ratio == pytest.approx((2 / 2 / 3) ** (1 / 3))
    assert entry.guarded == pytest.approx(2 ** (1 / 3))
    assert (entry.count, entry.wins, entry.ties, entry.losses, entry.failures) == (3, 1, 0, 2, 1)
    assert entry.digest == programs_digest((item.program, item.digest) for item in reversed(HAND_MADE))
    assert rows_of_entry(path, entry) == [replace(item, curve=()) for item in HAND_MADE]


def test_anybody_can_append(tmp_path: Path) -> None:
    path = tmp_path / "board.jsonl"
    append_rows(path, HAND_MADE, ORIGIN)
    others = [
        replace(item, method="n", budget=budget) for budget in ("10 evaluations", "1s") for item in HAND_MADE
    ]
    append_rows(path, others, replace(ORIGIN, name="mine"))
    assert [(entry.name, entry.budget) for entry in read_leaderboard(path)] == [
        ("m", "10 evaluations"),
        ("mine", "10 evaluations"),
        ("mine", "1s"),
    ]


def test_the_same_rows_make_the_same_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    (first,) = append_rows(one, HAND_MADE, ORIGIN)
    (second,) = append_rows(two, HAND_MADE, ORIGIN)
    assert (tmp_path / first.rows).read_bytes() == (tmp_path / second.rows).read_bytes()


@pytest.mark.parametrize("line", ["{", "[]", "{}"])
def test_what_is_no_entry_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "board.jsonl"
    append_rows(path, HAND_MADE, ORIGIN)
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(InputError, match=r"board.jsonl, line 2: not an entry of a leaderboard"):
        append_rows(path, HAND_MADE, ORIGIN)
    with pytest.raises(InputError, match=r"nothing.jsonl: "):
        read_leaderboard(tmp_path / "nothing.jsonl")


def test_honest_entries_are_verified(tmp_path: Path, real: list[Row]) -> None:
    path = tmp_path / "board.jsonl"
    entries = append_rows(path, real, ORIGIN)
    assert [entry.method for entry in entries] == ["random", "start"]
    assert [problems(path, entry) for entry in entries] == [[], []]


Change = Callable[[list[Row]], list[Row]]


def first(**changes: object) -> Change:
    """Return a change of the first row."""
    return lambda rows: [replace(rows[0], **changes), *rows[1:]]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (first(cost=90.0), "a=240 b=77: cost is 1.0, the row says 90.0"),
        (first(trace=()), "a=240 b=77: cost is 318.0"),
        (first(trace=("halve", "divide")), "no action named 'divide'"),
        (first(state="a=1"), "a=240 b=77: state is"),
        (first(reference_cost=200.0), "a=240 b=77: reference_cost is 93.0, the row says 200.0"),
        (first(cost=None, unoptimized_cost=1.0), "a=240 b=77: unoptimized_cost is 318.0, the row says 1.0"),
        (first(digest="0" * 32), "a=240 b=77: not the program that the row is of"),
        (first(method="genetic"), "rows have method genetic, the entry says random"),
        (lambda rows: rows[1:], "no row of a=240 b=77"),
        (lambda rows: [*rows, replace(rows[0], program="a=1")], "rows of other programs: a=1"),
    ],
)
def test_tampered_row_is_caught(tmp_path: Path, real: list[Row], change: Change, said: str) -> None:
    """All figures, counts and digests are made to fit what was changed: only a replay tells."""
    path = tmp_path / "board.jsonl"
    changed = change([item for item in real if item.method == "random"])
    (entry, *_) = append_rows(path, changed, ORIGIN)
    if len({item.method for item in changed}) > 1:  # put all into one file
        content = write_rows(changed)
        (tmp_path / "all.gz").write_bytes(gzip.compress(content))
        entry = replace(entry, method="random", rows="all.gz", rows_digest=text_digest(content))
    found = problems(path, entry)
    assert any(said in text for text in found), found


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("ratio", 9.0, "the entry says 9"),
        ("high", 9.0, "high is"),
        ("wins", 99, "wins is"),
        ("digest", "0" * 32, "other programs than the entry's digest is of"),
        ("count", 99, "3 rows, the entry says 99"),
        ("rows", "nowhere.gz", "nowhere.gz: "),
        ("rows_digest", "0" * 32, "the rows were changed"),
        ("sample", 1, "rows of other programs: "),
    ],
)
def test_tampered_entry_is_caught(
    tmp_path: Path, real: list[Row], field: str, value: object, said: str
) -> None:
    path = tmp_path / "board.jsonl"
    append_rows(path, real, ORIGIN)
    line = json.loads(path.read_text().splitlines()[0])
    found = problems(path, Entry.from_json(json.dumps(line | {field: value})), count=0)
    assert any(said in text for text in found), found


def test_changed_rows_are_caught_by_their_digest(tmp_path: Path, real: list[Row]) -> None:
    path = tmp_path / "board.jsonl"
    entry = append_rows(path, real, ORIGIN)[0]
    file = tmp_path / entry.rows
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b'"cost": ', b'"cost": 1')))
    assert "the rows were changed" in problems(path, entry)[0]


def test_sample_of_programs_is_known_from_the_seed(tmp_path: Path, real: list[Row]) -> None:
    path = tmp_path / "board.jsonl"
    names = {case.name for case in sampled(CASES, 2, 0)}
    kept = [item for item in real if item.program in names and item.method == "random"]
    (entry,) = append_rows(path, kept, replace(ORIGIN, sample=2))
    assert problems(path, entry) == []


def test_figures_are_those_of_the_summary() -> None:
    figures = figures_of(HAND_MADE, 0.95)
    assert figures.keys() <= Entry.__dataclass_fields__.keys()
    assert (figures["wins"], figures["failures"]) == (1, 1)
