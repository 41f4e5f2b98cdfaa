"""A choice at each site, within a limit that all sites share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HALVINGS = 16  # steps of the bisection for the price
DOUBLINGS = 32  # of the price before that, at most: no site gains as much for a unit of the limit


def cheapest_within(free: NDArray[np.float64], common: NDArray[np.float64], room: float) -> NDArray[np.int64]:
    """Return the index of each site's cheapest alternative; -1 where none is cheaper than no change.

    What sites take of the limit has a price, just high enough that all of them together stay within it.

    Args:
        free: float64[sites, alternatives], the change of the objective.
        common: float64[sites, alternatives], the change of what the limit is on.
        room: The most that `common` may add up to; infinity: no limit.
    """
    sites = np.arange(len(free))

    def cheapest(price: float) -> NDArray[np.int64]:
        priced = free + price * common if price else free
        least = priced.argmin(axis=1)
        return np.where(priced[sites, least] < 0, least, -1)

    def used(price: float) -> float:
        chosen = cheapest(price)
        return float(np.where(chosen < 0, 0.0, common[sites, chosen]).sum())

    if used(0.0) <= room:
        return cheapest(0.0)
    low, high = 0.0, 1.0  # in units of `free` for each unit of `common`
    for _ in range(DOUBLINGS):
        if used(high) <= room:
            break
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if used(middle) > room else (low, middle)
    return cheapest(high)
