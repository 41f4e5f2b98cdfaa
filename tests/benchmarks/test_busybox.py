"""Builds of BusyBox: the table, and how its tests' results are read."""

from __future__ import annotations

from pathlib import Path

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


def test_the_suites_lines_are_its_results(tmp_path: Path) -> None:
    (tmp_path / "testsuite").mkdir()
    suite = tmp_path / "testsuite" / "runtest"
    suite.write_text(
        '#!/bin/sh\necho "PASS: in $bindir"\necho "SKIPPED: mount"\necho "FAIL: sed NUL"\nexit 1\n'
    )
    suite.chmod(0o755)
    assert results(tmp_path) == ({f"in {tmp_path}"}, {"sed NUL"})
