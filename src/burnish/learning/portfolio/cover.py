"""Greedy cover: a few of many, chosen by what each adds to those before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 0.5  # log ratio: what is gained beyond it does not count, or one program would outweigh many
LEAST_GAIN = 1e-5  # of the mean log ratio: what adds less is not in the portfolio
OVERHEAD = 0.5  # times what the reference takes: what trying a sequence costs beside applying it


def by_gain_for_time(
    log_ratios: NDArray[np.float64], seconds: NDArray[np.float64], size: int
) -> tuple[list[int], list[float]]:
    """Choose sequences greedily: their numbers, and what each adds to the mean log ratio.

    Args:
        log_ratios: [N, P], log(reference / cost) of N sequences on P programs.
        seconds: [N, P], of trying them, in units of what the reference takes there.
        size: How many at most.
    """
    gains = log_ratios.clip(0, MOST) / log_ratios.shape[1]
    return greedy_cover(gains, size, time=OVERHEAD + seconds.mean(axis=1), least=LEAST_GAIN)


def greedy_cover(
    gains: NDArray[np.float64], most: int, *, time: NDArray[np.float64] | None = None, least: float = 0.0
) -> tuple[list[int], list[float]]:
    """Choose rows, one by one, whose elementwise maximum with those before has the largest sum.

    Args:
        gains: float64[choices, cases], 0 and above.
        most: How many rows at most.
        time: float64[choices], above 0: next is the row that adds most by its time.
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
