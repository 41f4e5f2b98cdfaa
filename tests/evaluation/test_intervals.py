"""Intervals against values by hand and by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.evaluation.intervals import bootstrap_interval, centre, fewest, signed_rank_interval


def test_six_pairs_give_the_range() -> None:
    """Of the 64 signs of six ranks one alone sums to 0: 2/64 is the first below 5 %."""
    assert signed_rank_interval([3, 1, 6, 2, 5, 9], 0.95) == (1, 9)


def test_eight_pairs_by_hand() -> None:
    """Of 256 sets of ranks, 5 sum to 3 at most (1.95 %), 7 to 4 (2.73 %): the fourth of the Walsh averages.

    The lowest of 1, 2, 4, 8, ..., 128: 1, 1.5, 2, 2.5; the highest: 128, 96, 80, 72.
    """
    assert signed_rank_interval([2**i for i in range(8)], 0.95) == (2.5, 72)


def test_tables_of_critical_values() -> None:
    """Wilcoxon's: at 5 % two-sided the critical sums for 10, 15, 20, 25 pairs are 8, 25, 52, 89."""
    for pairs, critical in ((10, 8), (15, 25), (20, 52), (25, 89)):
        values = [float(2**i) for i in range(pairs)]
        means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
        assert signed_rank_interval(values, 0.95) == (means[critical], means[-critical - 1])


def test_too_few_pairs_are_told() -> None:
    with pytest.raises(InputError, match=r"5 pairs cannot give 0.95 confidence; at least 6 can"):
        signed_rank_interval([1, 2, 3, 4, 5], 0.95)
    assert [fewest(c) for c in (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)] == [2, 3, 5, 6, 8, 11]
    with pytest.raises(InputError, match="more than 0 and less than 1"):
        fewest(1.0)


def test_fewest_suffice_exactly() -> None:
    for confidence in (0.5, 0.75, 0.8, 0.9, 0.95, 0.975, 0.99):
        signed_rank_interval(list(range(fewest(confidence))), confidence)
        with pytest.raises(InputError):
            signed_rank_interval(list(range(fewest(confidence) - 1)), confidence)


def test_centre_is_the_median_of_walsh_averages() -> None:
    assert centre([1, 2, 6]) == 2.75  # of 1, 1.5, 2, 3.5, 4, 6
    assert centre([5]) == 5


@pytest.mark.parametrize("kind", ["normal", "heavy", "ties"])
def test_interval_covers_as_often_as_it_says(kind: str) -> None:
    rng = np.random.default_rng(1)
    missed = 0
    draw: dict[str, Callable[[], Any]] = {
        "normal": lambda: rng.normal(size=12),
        "heavy": lambda: rng.standard_cauchy(size=12),
        "ties": lambda: rng.integers(-2, 3, size=12).astype(float),
    }
    for _ in range(1000):
        values = draw[kind]()
        low, high = signed_rank_interval([float(value) for value in values], 0.95)
        missed += not low <= 0 <= high
    assert missed <= 65  # 50 are expected, with a standard deviation of 7


def test_outlier_does_not_move_the_interval_far() -> None:
    values = [math.sin(i) for i in range(20)]
    low, high = signed_rank_interval(values, 0.95)
    wild = signed_rank_interval([*values[:-1], 1000.0], 0.95)
    assert abs(wild[0] - low) < 0.2 and abs(wild[1] - high) < 0.5


def test_bootstrap_is_seeded_and_narrows() -> None:
    def interval(values: list[float], width: float = 0.0) -> tuple[float, float]:
        return bootstrap_interval(values, [(v - width, v + width) for v in values], 0.95, seed=1)

    few, many = interval([0.0, 1.0] * 5), interval([0.0, 1.0] * 500)
    assert few == interval([0.0, 1.0] * 5)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]
    assert interval([3.0]) == (3.0, 3.0)


def test_bootstrap_of_one_value_is_its_own_interval() -> None:
    low, high = bootstrap_interval([3.0], [(2.0, 4.0)], 0.95, seed=1)
    assert (low, high) == (pytest.approx(2, abs=0.05), pytest.approx(4, abs=0.05))


def test_uncertain_values_average_out() -> None:
    """A hundred equal values that are each known to +-1: their mean is known to +-0.1."""
    low, high = bootstrap_interval([3.0] * 100, [(2.0, 4.0)] * 100, 0.95, seed=1)
    assert (low, high) == (pytest.approx(2.9, abs=0.01), pytest.approx(3.1, abs=0.01))
