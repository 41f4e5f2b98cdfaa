"""Views, starts and steps: an environment's queries to a session, and the session's replies."""

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
    """The parts of each state that an environment reads."""

    observations: tuple[str, ...] = ()
    objective: str | None = None  # None: no cost is measured
    site_count: int = 0  # most sites beside the whole program


class Start(NamedTuple):
    """The data that an environment needs at the beginning of an episode, gathered in one call."""

    sites: tuple[str, ...]  # the whole program, and at most View.site_count of its sites
    observed: tuple[Observed, ...]
    cost: float
    mask: Mask  # [len(sites) * n]
    baselines: tuple[float, ...]
    question: str = ""  # the site that the compiler asks about


class Step(NamedTuple):
    """The data that an environment needs after a step, gathered in one call."""

    changed: bool
    observed: tuple[Observed, ...]
    cost: float | None
    mask: Mask  # [len(sites) * n]
    sites: tuple[str, ...]
    """Same slots as before the step. A vanished site keeps its slot until a new site fills it."""
    entry: str  # of the trace
    question: str = ""  # the site that the compiler asks about now


def has_room(sites: tuple[str, ...], mask: Mask, count: int) -> bool:
    """Return whether a new site would get a slot: one is unused, or has no legal action."""
    if len(sites) <= count:
        return True
    length, legal = (
        len(mask) // len(sites),
        mask.tobytes(),
    )  # bytes are searched five times as fast as by an array's any() and all()
    return any(1 not in legal[i : i + length] for i in range(length, len(mask), length))


def following(before: tuple[str, ...], now: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the whole program and its sites after a step, each in its slot as before: see Step.

    Args:
        before: The sites by slot before the step, the whole program first.
        now: The sites that exist now.
        count: The most sites beside the whole program.
    """
    there = {WHOLE_PROGRAM, *now}
    new = iter([site for site in now if site not in before])
    kept = [site if site in there else next(new, site) for site in before]
    return (*kept, *islice(new, 1 + count - len(kept)))
