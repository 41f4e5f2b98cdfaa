"""Views, starts and steps: an environment's queries to a session, and the session's replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol

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


class Sited(Protocol):
    """The methods of a session that `places` calls."""

    def sites(self) -> tuple[str, ...]:
        """See Session."""

    def mask(self, sites: Sequence[str]) -> Mask:
        """See Session."""


def first_places(session: Sited, count: int) -> tuple[str, ...]:
    """Return the whole program and the first of its sites, at most `count`."""
    return (WHOLE_PROGRAM, *(session.sites()[:count] if count else ()))


def places(session: Sited, sites: tuple[str, ...], count: int) -> tuple[tuple[str, ...], Mask]:
    """Return the observed sites after a step, each in its slot as before, and the legal actions there.

    Args:
        session: The session after the step.
        sites: The sites of the last start or step, the whole program first.
        count: The most sites beside the whole program.
    """
    mask = session.mask(sites)
    if not count or not has_room(sites, mask, count):
        return sites, mask
    now = following(sites, session.sites(), count)
    return now, mask if now == sites else session.mask(now)


def has_room(sites: tuple[str, ...], mask: Mask, count: int) -> bool:
    """Return whether a new site would get a slot: one is unused, or has no legal action."""
    if len(sites) <= count:
        return True
    # Bytes are searched five times as fast as by an array's any() and all().
    length, legal = len(mask) // len(sites), mask.tobytes()
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
