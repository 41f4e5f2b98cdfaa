"""Curves are the mean of the best so far, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from burnish.evaluation.report.curves import improvement_curve, longest_curves
from tests.evaluation.rows import row

SECONDS: dict[str, Any] = {"budget": "1s", "budget_seconds": 1.0}


def test_curve_by_hand() -> None:
    """Two programs: one is 2 from 0.2 s and 4 from 0.6 s on, the other 1.25 from 0.4 s on."""
    rows = [
        row("a", 25.0, curve=((0.1, 1, 200.0), (0.2, 2, 50.0), (0.6, 9, 25.0)), seconds=1.0, **SECONDS),
        row("b", 80.0, curve=((0.4, 3, 80.0),), seconds=1.1, **SECONDS),
    ]
    curve = improvement_curve(rows)
    assert curve.timed
    assert curve.positions == (0.0, 0.2, 0.4, 0.6, 1.1)
    means = (1.0, math.sqrt(2), math.sqrt(2 * 1.25), math.sqrt(4 * 1.25), math.sqrt(4 * 1.25))
    assert curve.ratios == pytest.approx(means)


def test_budget_of_evaluations_has_evaluations_below() -> None:
    curve = improvement_curve([row("a", 50.0, curve=((0.3, 7, 50.0),), evaluations=10)])
    assert (curve.timed, curve.positions, curve.ratios) == (False, (0.0, 7.0, 10.0), (1.0, 2.0, 2.0))


def test_what_does_not_count_in_the_end_does_not_count_on_the_way() -> None:
    failed = row("a", None, curve=((0.1, 1, 10.0),), seconds=1.0, **SECONDS)
    worse = row("b", 150.0, curve=((0.1, 1, 150.0),), seconds=1.0, **SECONDS)
    assert set(improvement_curve([failed, worse]).ratios) == {1.0}


def test_baseline_counts_from_its_end() -> None:
    curve = improvement_curve([row("a", 50.0, fallback="Os", seconds=0.5, **SECONDS)])
    assert (curve.positions, curve.ratios) == ((0.0, 0.5, 0.5), (1.0, 2.0, 2.0))


def test_noisy_row_is_as_good_as_it_was_measured_in_the_end() -> None:
    timing = {"ratio": 1.1, "low": 1.05, "high": 1.2, "verdict": "faster"}
    noisy = row("a", 90.0, curve=((0.1, 1, 40.0), (0.3, 2, 30.0)), seconds=1.0, timing=timing, **SECONDS)
    curve = improvement_curve([noisy])
    assert (curve.positions, curve.ratios) == ((0.0, 0.3, 1.0), (1.0, pytest.approx(1.1), pytest.approx(1.1)))


def test_longest_budget_of_each_method() -> None:
    long: dict[str, Any] = {"budget": "10s", "budget_seconds": 10.0}
    rows = [
        row("a", 50.0, method="m", seconds=1.0, curve=((0.5, 1, 50.0),), **SECONDS),
        row("a", 25.0, method="m", seconds=10.0, curve=((5.0, 1, 25.0),), **long),
        row("a", 80.0, method="n", seconds=1.0, curve=((0.5, 1, 80.0),), **SECONDS),
        row("a", 80.0, method="k", budget="999", evaluations=999),  # not of time: in another picture
    ]
    m, n = longest_curves(rows)
    assert (m.method, m.positions[-1], m.ratios[-1]) == ("m", 10.0, pytest.approx(4))
    assert (n.method, n.positions[-1]) == ("n", 1.0)
