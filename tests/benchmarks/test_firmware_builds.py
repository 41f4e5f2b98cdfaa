"""Builds of U-Boot: the table, and what of an output may differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import firmware_builds
from firmware_builds import BOARDS, VARIES, WAYS, table
from kit.makefiles import counts

from burnish.cc import build_log


def row(machine: str, sizes: dict[str, int]) -> dict[str, Any]:
    ways = {
        way: {"bytes": size, "seconds": 10.0 + number} for number, (way, size) in enumerate(sizes.items())
    }
    return {"board": "one", "machine": machine, "tests": 71, **ways}


def test_each_way_is_compared_with_gcc() -> None:
    rows = [
        row("ARM", dict(zip(WAYS, (1000, 970, 950, 900), strict=True))),
        row("RISC-V", {"gcc -Os": 2000, "burnish cc": 1900, "burnish cc, longer": 1800}),
    ]
    head, _, arm, riscv = table(rows).splitlines()
    assert head == "| U-Boot for | gcc -Os | gcc -Os -flto | burnish cc | burnish cc, longer | tests |"
    longer = [f"({factor:.1f} times the time)" for factor in (1.1, 1.2, 1.3)]
    assert arm == f"| ARM | 1,000 | -3.0% {longer[0]} | -5.0% {longer[1]} | -10.0% {longer[2]} | 71 |"
    assert riscv == "| RISC-V | 2,000 |  | -5.0% (1.1 times the time) | -10.0% (1.2 times the time) | 71 |"


def test_addresses_may_differ_and_nothing_else() -> None:
    assert VARIES.sub("ADDRESS", "fdt at 46e1de90, 0x1f") == "fdt at ADDRESS, ADDRESS"
    assert VARIES.sub("ADDRESS", "Failures: 3 of 94") == "Failures: 3 of 94"


def test_objects_are_counted_by_what_became_of_them(tmp_path: Path) -> None:
    first = build_log.Record("", "", "a.c", "a.o", "Os", "optimized", "", 9, 8, 7, 6, 0.1, (), 3, "gcc")
    kept, passed = replace(first, action="kept"), replace(first, action="passed through")
    for record in (first, kept, first, passed):
        build_log.append(tmp_path / "log", record)
    assert counts(tmp_path / "log") == {"smaller": 2, "tried": 3, "objects": 4}


def test_the_stored_table_is_that_of_the_rows() -> None:
    results = Path(firmware_builds.__file__).parent / "results" / "firmware_builds"
    rows = [json.loads(line) for line in (results / "rows.jsonl").read_text().splitlines()]
    assert [one["board"] for one in rows] == list(BOARDS)
    assert (results / "table.txt").read_text() == f"{table(rows)}\n"
    for one in rows:
        assert one["tests"] > 50
        assert one["burnish cc, longer"]["bytes"] < one["burnish cc"]["bytes"] < one["gcc -Os"]["bytes"]
