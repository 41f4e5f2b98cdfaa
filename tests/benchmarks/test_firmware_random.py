"""Random programs for microcontrollers: what the table counts."""

from __future__ import annotations

import json
from pathlib import Path

import firmware_random
from firmware_random import WAYS, table


def test_outcomes_are_counted_by_machine_and_way() -> None:
    rows = [
        {"machine": "m4", "seed": 0, "burnish": "same", "burnish whole": "kept"},
        {"machine": "m4", "seed": 1, "burnish": "same", "burnish whole": "differs"},
        {"machine": "m4", "seed": 2, "burnish": "left out", "burnish whole": "left out"},
        {"machine": "rv32", "seed": 0, "burnish": "kept", "burnish whole": "same"},
    ]
    lines = table(rows).splitlines()
    assert "| m4 | burnish | 3 | 2 | 0 | 1 | 0 |" in lines
    assert "| m4 | burnish whole | 3 | 0 | 1 | 1 | 1 |" in lines
    assert "| rv32 | burnish whole | 1 | 1 | 0 | 0 | 0 |" in lines


def test_no_published_program_prints_something_else() -> None:
    results = Path(firmware_random.__file__).parent / "results" / "firmware_random"
    rows = [json.loads(line) for line in (results / "rows.jsonl").read_text().splitlines()]
    assert [row["seed"] for row in rows if row["machine"] == "rv32imc"] == list(range(200))
    assert "differs" not in {row[way] for row in rows for way in WAYS}
    assert (results / "table.txt").read_text() == f"{table(rows)}\n"
