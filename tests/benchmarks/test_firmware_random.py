"""Random programs for other machines: what the tables count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import firmware_random
from firmware_random import OURS, table


def row(machine: str, seed: int, outcomes: tuple[str, str], executed: tuple[int, int, int]) -> dict[str, Any]:
    own = {
        way: {"outcome": outcome, "instructions": count}
        for way, outcome, count in zip(OURS, outcomes, executed[1:], strict=True)
    }
    return {"machine": machine, "seed": seed, "clang": {"instructions": executed[0]}, **own}


def test_outcomes_and_instructions_are_counted_by_machine_and_way() -> None:
    rows = [
        row("m4", 0, ("same", "kept"), (100, 110, 200)),
        row("m4", 1, ("same", "differs"), (100, 90, 200)),
        {"machine": "m4", "seed": 2},
        row("rv32", 0, ("kept", "same"), (100, 50, 50)),
    ]
    outcomes, executed = table(rows).split("\n\n")
    assert "| m4 | burnish | 3 | 2 | 0 | 1 | 0 |" in outcomes
    assert "| m4 | burnish whole | 3 | 0 | 1 | 1 | 1 |" in outcomes
    assert "| rv32 | burnish whole | 1 | 1 | 0 | 0 | 0 |" in outcomes
    assert executed.splitlines()[2:] == [
        "| m4 | burnish | 2 | -0.5 % | +10.0 % | +10.0 % |",
        "| rv32 | burnish whole | 1 | -50.0 % | -50.0 % | -50.0 % |",
    ]


def test_no_published_program_prints_something_else() -> None:
    results = Path(firmware_random.__file__).parent / "results" / "firmware_random"
    rows = [json.loads(line) for line in (results / "rows.jsonl").read_text().splitlines()]
    for machine in {row["machine"] for row in rows}:
        assert [row["seed"] for row in rows if row["machine"] == machine] == list(range(200))
    assert "differs" not in {row[way]["outcome"] for row in rows for way in OURS if way in row}
    assert (results / "table.txt").read_text() == f"{table(rows)}\n"
