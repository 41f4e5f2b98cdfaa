"""Views: what an environment asks of a session, and the starts and steps that it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from burnish.core.objective import GraphArrays
from burnish.core.trace import WHOLE_PROGRAM

Mask = NDArray[np.bool_]
Observed = NDArray[Any] | GraphArrays | str | bytes


@dataclass(frozen=True)
class View:
    """What to look at in each state."""

    observations: tuple[str, ...] = ()
    objective: str | None = None  # None: nothing is measured
    site_count: int = 0  # sites beside the whole program, at most


class Start(NamedTuple):
    """What the beginning of an episode needs to know, gathered in one call."""

    sites: tuple[str, ...]  # the whole program, and as many of its sites as were asked for
    observed: tuple[Observed, ...]
    cost: float
    mask: Mask  # [len(sites) * n]
    baselines: tuple[float, ...]
    question: str = ""  # the site that is asked about


class Step(NamedTuple):
    """What one step of an environment needs to know, gathered in one call."""

    changed: bool
    observed: tuple[Observed, ...]
    cost: float | None
    mask: Mask  # [len(sites) * n]
    sites: tuple[str, ...]
    """As they were; one that is gone is where it was until one that is new takes its place."""
    entry: str  # of the trace
    question: str = ""  # the site that is asked about now


def has_room(sites: tuple[str, ...], mask: Mask, count: int) -> bool:
    """Return whether a new site would be looked at: there are fewer, or one where nothing is legal."""
    if len(sites) <= count:
        return True
    length, legal = (
        len(mask) // len(sites),
        mask.tobytes(),
    )  # five times as fast as an array's any() and all()
    return any(1 not in legal[i : i + length] for i in range(length, len(mask), length))


def following(before: tuple[str, ...], now: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the whole program and sites, each where it was before: see Step.

    Args:
        before: Where they were, the whole program before all.
        now: Those that there are.
        count: How many at most.
    """
    there = {WHOLE_PROGRAM, *now}
    new = iter([site for site in now if site not in before])
    kept = [site if site in there else next(new, site) for site in before]
    return (*kept, *islice(new, 1 + count - len(kept)))
