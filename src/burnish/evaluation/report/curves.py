"""How good methods are after any part of their budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from burnish.evaluation.rows import Row


@dataclass(frozen=True)
class Curve:
    """The geometric mean over programs of the guarded ratio of the best so far: a step function."""

    method: str
    timed: bool  # positions are seconds; otherwise evaluations
    positions: tuple[float, ...]  # from where each value holds, growing
    ratios: tuple[float, ...]


def improvement_curve(rows: Sequence[Row]) -> Curve:
    """Return a method's curve; before it has found anything better, a program counts as its reference.

    What did not stand up to being replayed never counts. What found nothing on the way, a baseline, counts
    from its end on.

    Args:
        rows: Of one method within one budget, not none.
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
    """Return the curve of each method within the longest of its budgets; of time, where some are."""
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
    """Return where a row became how good, its last point as it was measured."""
    end = row.seconds if timed else float(row.evaluations)
    points = [
        (seconds if timed else float(count), row.reference_cost / cost) for seconds, count, cost in row.curve
    ]
    if row.timing or not points:  # costs on the way are too noisy to add up
        return [(points[-1][0] if points else end, row.ratio)]
    return points
