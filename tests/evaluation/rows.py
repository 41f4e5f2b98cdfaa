"""Rows that nobody measured."""

from __future__ import annotations

from typing import Any

from burnish.evaluation.rows import Row


def row(
    program: str,
    cost: float | None,
    *,
    method: str = "m",
    budget: str = "10 evaluations",
    project: str = "p",
    reference: float = 100.0,
    **others: Any,
) -> Row:
    """Return a row of a program that costs 100 under the reference."""
    failure = "it crashed" if cost is None else ""
    fields: dict[str, Any] = {
        "program": program,
        "digest": f"digest of {program}",
        "project": project,
        "objective": "total",
        "method": method,
        "budget": budget,
        "seed": 0,
        "reference": "halved",
        "reference_cost": reference,
        "unoptimized_cost": 300.0,
        "cost": cost,
        "failure": failure,
    }
    return Row(**(fields | others))
