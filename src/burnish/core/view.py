"""Views, starts and steps: an environment's queries to a session, and the session's replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from burnish.core.objective import GraphArrays

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
