"""The overhead of shards: what is counted, and what fails."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kit.busy import busy, executions
from shards import failures_of, measure, table

ROW: dict[str, Any] = {"engine": "ray", "shards": 10_000, "slots": 2, "seconds": 10.0}
ROW |= {"overhead_ms": 1.0, "driver_ms": 0.5, "lost": 0, "twice": 0}


def test_every_execution_leaves_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert [busy(number, 0.0, str(log)) for number in (3, 5, 3)] == [9, 25, 9]
    assert executions(log) == Counter({3: 2, 5: 1})


def test_shards_of_an_engine_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = measure("local", 20)
    assert (row["shards"], row["slots"], row["lost"], row["twice"]) == (20, 2, 0, 0)
    assert row["overhead_ms"] == pytest.approx(1e3 * (row["seconds"] * 2 / 20 - 1e-3))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        ({}, ""),
        ({"overhead_ms": 5.0}, "ray: an overhead of 5.0 ms a shard, expected less than 5"),
        ({"overhead_ms": 50.0, "engine": "slurm"}, ""),
        ({"lost": 2}, "ray: 2 shards have no value or a wrong one"),
        ({"twice": 1}, "ray: 1 shards were executed again"),
    ],
)
def test_a_floor_fails_with_its_number(change: dict[str, Any], failure: str) -> None:
    row = ROW | change
    assert failures_of(row) == ([failure] if failure else [])
    assert ("does not hold" in table([row])) == bool(failure)
