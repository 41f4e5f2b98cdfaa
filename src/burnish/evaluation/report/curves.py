"""Improvement curves: the quality of methods after any part of their budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from burnish.evaluation.rows import Row


@dataclass(frozen=True)
class Curve:
    """The geometric mean over programs of the guarded ratio of the best so far, a step function."""

    method: str
    timed: bool  # positions are seconds; otherwise evaluations
    positions: tuple[float, ...]  # the beginning of each step, increasing
    ratios: tuple[float, ...]


def improvement_curve(rows: Sequence[Row]) -> Curve:
    """Return a method's curve; until the method has a better result, a program counts as its reference.

    Results whose replay failed never count. A result without intermediate results, such as a baseline's,
    counts from its end.

    Args:
        rows: At least one row, of one method within one budget.
    """
    timed = rows[0].budget_seconds is not None
    steps: list[tuple[float, float]] = []  # position, gain in the sum of logarithms
    for row in rows:
        if not row.is_better:
            continue
        best = 0.0
        for position, ratio in _ratios(row, timed):
            if math.log(ratio) > best:
                steps.append((position, math.log(ratio) - best))
                best = math.log(ratio)
    total, positions, ratios = 0.0, [0.0], [1.0]
    for position, gain in sorted(steps):
        total += gain
        if position == positions[-1]:
            ratios[-1] = math.exp(total / len(rows))
        else:
            positions.append(position)
            ratios.append(math.exp(total / len(rows)))
    positions.append(max([positions[-1], *(row.seconds if timed else row.evaluations for row in rows)]))
    ratios.append(ratios[-1])
    return Curve(rows[0].method, timed, tuple(positions), tuple(ratios))


def longest_curves(rows: Sequence[Row]) -> list[Curve]:
    """Return each method's curve within its longest budget; if any is a time budget, only such curves."""
    curves = []
    for method in dict.fromkeys(row.method for row in rows):
        own = [row for row in rows if row.method == method]
        budgets = dict.fromkeys(row.budget for row in own)
        longest = max(budgets, key=lambda budget: _length([row for row in own if row.budget == budget]))
        curves.append(improvement_curve([row for row in own if row.budget == longest]))
    timed = any(curve.timed for curve in curves)
    return [curve for curve in curves if curve.timed == timed]


def _length(rows: Sequence[Row]) -> tuple[bool, float]:
    timed = rows[0].budget_seconds is not None
    used = [row.budget_seconds or 0.0 if timed else float(row.evaluations) for row in rows]
    return timed, math.fsum(used) / len(used)


def _ratios(row: Row, timed: bool) -> list[tuple[float, float]]:
    """Return a row's improvements as (position, ratio); a noisy row has only its final measured ratio."""
    end = row.seconds if timed else float(row.evaluations)
    points = [
        (seconds if timed else float(count), row.reference_cost / cost) for seconds, count, cost in row.curve
    ]
    if row.timing or not points:  # intermediate costs are too noisy to add up
        return [(points[-1][0] if points else end, row.ratio)]
    return points
