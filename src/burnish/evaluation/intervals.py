"""Confidence intervals that assume no distribution."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence

import numpy as np

from burnish.core.errors import InputError

RESAMPLES = 10_000


def signed_rank_interval(differences: Sequence[float], confidence: float) -> tuple[float, float]:
    """Return Wilcoxon's interval for the centre of paired differences.

    The means of all pairs (Walsh averages), including each difference with itself, are sorted. The interval
    goes from the k-th to the k-th last mean. It contains the centre with at least the given confidence, for
    any symmetric distribution. Differences of two runs of the same program have a symmetric distribution.
    See Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3.3.

    Raises:
        InputError: there are too few differences for this confidence.
    """
    means = _walsh_averages(differences)
    k = _rank(len(differences), confidence)
    if k < 1:
        raise InputError(
            f"{len(differences)} pairs cannot give {confidence:.4g} confidence; "
            f"at least {fewest(confidence)} can"
        )
    return means[k - 1], means[-k]


def centre(differences: Sequence[float]) -> float:
    """Return the median of the Walsh averages, the Hodges-Lehmann estimate of the centre."""
    return statistics.median(_walsh_averages(differences))


def fewest(confidence: float) -> int:
    """Return the fewest pairs n for an interval: 2 / 2^n must be at most 1 - confidence."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence:g}; expected more than 0 and less than 1")
    return math.ceil(1 - math.log2(1 - confidence) - 1e-9)


def bootstrap_interval(
    values: Sequence[float], intervals: Sequence[tuple[float, float]], confidence: float, *, seed: int
) -> tuple[float, float]:
    """Return the bootstrap percentile interval of the mean of values with their own uncertainty.

    Args:
        values: One value per program, for example.
        intervals: Each value's interval, with the same confidence; each resampled value gets a normal error
            with this interval.
        confidence: The interval's confidence.
        seed: The resampling's seed.
    """
    rng = np.random.default_rng(seed)
    z = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    spreads = np.array([(high - low) / 2 / z for low, high in intervals])
    chosen = rng.integers(len(values), size=(RESAMPLES, len(values)))
    means = rng.normal(np.asarray(values, dtype=np.float64)[chosen], spreads[chosen]).mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def cluster_interval(
    values: Sequence[float], clusters: Sequence[str], confidence: float, *, seed: int
) -> tuple[float, float]:
    """Return the bootstrap percentile interval of the mean, with whole clusters resampled.

    Programs of a project resemble each other, so a mean over other projects is less certain than the number
    of programs suggests. See Davison, Hinkley, Bootstrap Methods and their Application, 3.8.

    Args:
        values: One value per program, for example.
        clusters: Each value's cluster, such as its project's name.
        confidence: The interval's confidence.
        seed: The resampling's seed.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    index = [numbers[name] for name in clusters]
    sums, counts = np.bincount(index, weights=values), np.bincount(index)
    chosen = np.random.default_rng(seed).integers(len(numbers), size=(RESAMPLES, len(numbers)))
    means = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _walsh_averages(differences: Sequence[float]) -> list[float]:
    return sorted((a + b) / 2 for i, a in enumerate(differences) for b in differences[i:])


@functools.cache
def _rank(count: int, confidence: float) -> int:
    """Return the largest k with P(signed-rank statistic < k) of at most (1 - confidence) / 2."""
    ways = [1]  # by sum of ranks: the number of subsets of the ranks 1 ... n with this sum
    for rank in range(1, count + 1):
        shorter = ways + [0] * rank
        ways = [a + b for a, b in zip(shorter, [0] * rank + ways, strict=True)]
    most = (1 - confidence) / 2 * 2**count * (1 + 1e-12)
    k = total = 0
    while total + ways[k] <= most:
        total += ways[k]
        k += 1
    return k
