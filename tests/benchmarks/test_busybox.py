"""Builds of BusyBox: the table, and how its tests' results are read."""

from __future__ import annotations

import json
from pathlib import Path

import busybox
from busybox import results, table


def test_each_way_is_compared_with_the_first() -> None:
    rows = [
        {"way": "gcc -Os", "loaded_bytes": 1_000_000, "seconds": 20.0, "passed": 869},
        {"way": "burnish cc -Oz", "loaded_bytes": 980_000, "seconds": 68.0, "passed": 868},
    ]
    head, _, gcc, burnish = table(rows).splitlines()
    assert head == "| | loaded bytes | against gcc -Os | build | tests passed |"
    assert gcc == "| gcc -Os | 1,000,000 | +0.0% | 1.0 times the time | 869 |"
    assert burnish == "| burnish cc -Oz | 980,000 | -2.0% | 3.4 times the time | 868 |"


def test_the_page_has_the_table_of_the_rows() -> None:
    stored = Path(busybox.__file__).parent / "results" / "busybox"
    rows = [json.loads(line) for line in (stored / "rows.jsonl").read_text().splitlines()]
    assert (stored / "table.txt").read_text() == f"{table(rows)}\n"
    assert table(rows) in (Path(__file__).parents[2] / "docs" / "drop_in.md").read_text()
    assert len({one["passed"] for one in rows}) == 1


def test_the_suites_lines_are_its_results(tmp_path: Path) -> None:
    (tmp_path / "testsuite").mkdir()
    suite = tmp_path / "testsuite" / "runtest"
    suite.write_text(
        '#!/bin/sh\necho "PASS: in $bindir"\necho "SKIPPED: mount"\necho "FAIL: sed NUL"\nexit 1\n'
    )
    suite.chmod(0o755)
    assert results(tmp_path) == ({f"in {tmp_path}"}, {"sed NUL"})
