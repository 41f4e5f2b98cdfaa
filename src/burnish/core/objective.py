"""What is minimised, and what is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Objective:
    """A cost of a state: a positive number with a unit, smaller is better."""

    name: str
    unit: str
    description: str
    dense: bool = True  # cheap enough to measure after every step


@dataclass(frozen=True)
class Observation:
    """One way to look at a state: the array's shape, dtype, range and columns, or text, or bytes."""

    name: str
    description: str
    kind: Literal["array", "text", "bytes"] = "array"
    shape: tuple[int, ...] = ()
    dtype: str = "int64"
    low: float = 0
    high: float = float("inf")
    columns: Sequence[str] = field(default=(), repr=False)
