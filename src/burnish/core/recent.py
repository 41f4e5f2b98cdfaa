"""A cache of what was used lately, and no more of it than there is room for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by keys; where there are too many, the one goes that was not used for the longest time."""

    def __init__(self, most: int, drop: Callable[[V], object] | None = None) -> None:
        """Have room for so many; `drop` is told of each that goes."""
        self.most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._drop = drop

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value of a key, which is used by that; None where there is none."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Keep a value, in the place of another of the same key."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self.most:
            _, oldest = self._values.popitem(last=False)
            if self._drop:
                self._drop(oldest)
