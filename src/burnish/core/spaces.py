"""Observations as Gymnasium spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from burnish.core.objective import Observation


class Content(spaces.Space[Any]):
    """Text or bytes of any length, such as a module's IR or its bitcode."""

    def __init__(self, kind: type[str] | type[bytes], seed: int | np.random.Generator | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)
        self.kind = kind

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str | bytes:
        """Return up to 64 random letters."""
        letters = self.np_random.integers(97, 123, size=int(self.np_random.integers(0, 65)), dtype=np.uint8)
        return letters.tobytes().decode("ascii") if self.kind is str else letters.tobytes()

    def contains(self, x: Any) -> bool:
        """Return whether it is of the right type."""
        return isinstance(x, self.kind)

    @property
    def is_np_flattenable(self) -> bool:
        """It is not: its length is free."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and other.kind is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"Content({self.kind.__name__})"


def space_of(observation: Observation) -> spaces.Space[Any]:
    """Return the Gymnasium space that an observation's values lie in."""
    if observation.kind == "text":
        return Content(str)
    if observation.kind == "bytes":
        return Content(bytes)
    dtype = np.dtype(observation.dtype)
    high = observation.high
    if dtype.kind in "iu":
        high = min(high, np.iinfo(dtype).max)
    return spaces.Box(
        low=np.full(observation.shape, observation.low, dtype=dtype),
        high=np.full(observation.shape, high, dtype=dtype),
        dtype=dtype.type,
    )
