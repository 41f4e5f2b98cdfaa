"""Objectives and observations, as a task describes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Objective:
    """A cost of a state: a positive number with a unit, smaller is better."""

    name: str
    unit: str
    description: str
    dense: bool = True  # cheap enough to measure after every step
    by_site: bool = True  # sites have costs of their own
    noisy: bool = False  # differs between measurements; comparisons need confidence intervals
    needs_workload: bool = False  # only for programs that can be run
    heading: str = ""  # in narrow tables; the unit by default

    @property
    def exact(self) -> bool:
        """True if every program has this cost, and measuring again gives the same number."""
        return not (self.noisy or self.needs_workload)


class GraphArrays(NamedTuple):
    """The value of a graph observation: a directed multigraph with typed edges."""

    nodes: NDArray[np.int64]  # [N, C]: a row of the observation's columns for each node
    edges: NDArray[np.int64]  # [E, 4]: source and target (rows of nodes), flow, position


@dataclass(frozen=True)
class Observation:
    """One representation of a state.

    An `array` has `shape`. A `sequence` is an array of any length, and `shape` is that of its elements. A
    `graph` is GraphArrays, and `shape` is that of a node's row. `low`, `high` and `columns` describe the
    array, an element or a node's row. The other kinds are `text` and `bytes`.
    """

    name: str
    description: str
    kind: Literal["array", "sequence", "graph", "text", "bytes"] = "array"
    shape: tuple[int, ...] = ()
    dtype: str = "int64"
    low: float = 0
    high: float = float("inf")
    columns: Sequence[str] = field(default=(), repr=False)
    noisy: bool = False  # measured: differs between observations
