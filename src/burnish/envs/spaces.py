"""Observations as Gymnasium spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from burnish.core.objective import GraphArrays, Observation
from burnish.core.view import Observed


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
        """Return whether a value is of the right type."""
        return isinstance(x, self.kind)

    @property
    def is_np_flattenable(self) -> bool:
        """False, because the length varies."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and other.kind is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"Content({self.kind.__name__})"


def space_of(observation: Observation) -> spaces.Space[Any]:
    """Return the Gymnasium space of an observation's values."""
    match observation.kind:
        case "text":
            return Content(str)
        case "bytes":
            return Content(bytes)
        case "graph":
            edge = spaces.Box(0, _most(np.dtype(np.int64)), shape=(2,), dtype=np.int64)  # flow, position
            return spaces.Graph(_box(observation), edge)
        case "sequence":
            return spaces.Sequence(_element(observation), stack=True)
        case "array":
            return _box(observation)


def as_member(observed: Observed) -> Any:
    """Return an observed value as a member of its space; a graph becomes Gymnasium's GraphInstance.

    Its nodes are int64[N, C], edges int64[E, 2] (flow, position), edge_links int64[E, 2] (source, target).
    """
    if isinstance(observed, GraphArrays):
        edges = observed.edges
        return spaces.GraphInstance(observed.nodes, edges[:, 2:], edges[:, :2])
    return observed


def _element(observation: Observation) -> spaces.Space[Any]:
    """Return the space of a sequence's elements; single integers must be Discrete for Gymnasium."""
    dtype = np.dtype(observation.dtype)
    if observation.shape or dtype.kind not in "iu":
        return _box(observation)
    low = int(observation.low)
    high = int(min(observation.high, _most(dtype)))
    return spaces.Discrete(high - low + 1, start=low)


def _box(observation: Observation) -> spaces.Box:
    dtype = np.dtype(observation.dtype)
    high = observation.high
    if dtype.kind in "iu":
        high = min(high, _most(dtype))
    return spaces.Box(
        low=np.full(observation.shape, observation.low, dtype=dtype),
        high=np.full(observation.shape, high, dtype=dtype),
        dtype=dtype.type,
    )


def _most(dtype: np.dtype[Any]) -> int:
    """Return the largest bound that Gymnasium can sample up to; sampling adds 1 to it."""
    return int(np.iinfo(dtype).max) - 1
