"""Greedy cover: choice of a few rows by the gain that each adds to the rows chosen before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 0.5  # log ratio; larger gains are cut to it, otherwise one program would outweigh many
LEAST_GAIN = 1e-5  # least addition to the mean log ratio of a sequence in the portfolio
OVERHEAD = 0.5  # time of trying a sequence beside applying it, in units of the reference's time


def by_gain_for_time(
    log_ratios: NDArray[np.float64], seconds: NDArray[np.float64], size: int
) -> tuple[list[int], list[float]]:
    """Choose sequences greedily: (row numbers, what each adds to the mean log ratio).

    Args:
        log_ratios: [N, P], log(reference / cost) of N sequences on P programs.
        seconds: [N, P], times of trying the sequences, in units of the reference's time on that program.
        size: Most sequences to choose.
    """
    gains = log_ratios.clip(0, MOST) / log_ratios.shape[1]
    return greedy_cover(gains, size, time=OVERHEAD + seconds.mean(axis=1), least=LEAST_GAIN)


def greedy_cover(
    gains: NDArray[np.float64], most: int, *, time: NDArray[np.float64] | None = None, least: float = 0.0
) -> tuple[list[int], list[float]]:
    """Choose rows one by one, each the one that adds most to the sum of the elementwise maximum so far.

    Args:
        gains: float64[choices, cases], at least 0.
        most: Most rows to choose.
        time: float64[choices], above 0; if given, the next row is the one that adds most per time.
        least: A row that adds no more than this is not chosen.

    Returns:
        The rows in the order of their choice, and what each adds to the sum.
    """
    best = np.zeros(gains.shape[1])
    chosen: list[int] = []
    added: list[float] = []
    while len(chosen) < min(most, len(gains)):
        sums = np.maximum(gains, best).sum(axis=1) - best.sum()
        worth = np.where(sums > least, sums if time is None else sums / time, 0.0)
        i = int(worth.argmax())
        if worth[i] <= 0:
            break
        chosen.append(i)
        added.append(float(sums[i]))
        best = np.maximum(best, gains[i])
    return chosen, added
