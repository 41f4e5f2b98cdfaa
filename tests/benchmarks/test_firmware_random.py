"""Random programs for microcontrollers: what the table counts."""

from __future__ import annotations

from firmware_random import table


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
