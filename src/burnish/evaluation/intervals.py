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

    The means of all pairs (Walsh averages), each difference with itself among them, are sorted; the interval
    goes from the k-th to the k-th last. It holds the centre with the confidence at least, whatever the
    distribution, as long as it is symmetric: as that of the difference of two runs of the same program is.
    See Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3.3.

    Raises:
        InputError: there are too few differences for that confidence.
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
    """Return the median of the Walsh averages, Hodges' and Lehmann's estimate of the centre."""
    return statistics.median(_walsh_averages(differences))


def fewest(confidence: float) -> int:
    """Return how many pairs it takes for an interval: so many that 2 / 2^n is at most 1 - confidence."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence:g}; expected more than 0 and less than 1")
    return math.ceil(1 - math.log2(1 - confidence) - 1e-9)


def bootstrap_interval(
    values: Sequence[float], intervals: Sequence[tuple[float, float]], confidence: float, *, seed: int
) -> tuple[float, float]:
    """Return the percentile interval of the mean over resamples of values that are uncertain themselves.

    Args:
        values: One for each program, say.
        intervals: Of each value, with the same confidence; a resampled value errs as a normal variable
            with that interval does.
        confidence: Of the interval.
        seed: Of the resampling.
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
    """Return the percentile interval of the mean over resamples of whole clusters.

    Programs of a project resemble each other; what holds for other projects is less certain than the number
    of programs says. See Davison, Hinkley, Bootstrap Methods and their Application, 3.8.

    Args:
        values: One for each program, say.
        clusters: Of each value, its project's name.
        confidence: Of the interval.
        seed: Of the resampling.
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
    """Return the largest k that the signed-rank statistic is below with (1 - confidence) / 2 at most."""
    ways = [1]  # [sum of ranks]: how many of the subsets of the ranks 1 ... n have it
    for rank in range(1, count + 1):
        shorter = ways + [0] * rank
        ways = [a + b for a, b in zip(shorter, [0] * rank + ways, strict=True)]
    most = (1 - confidence) / 2 * 2**count * (1 + 1e-12)
    k = total = 0
    while total + ways[k] <= most:
        total += ways[k]
        k += 1
    return k
