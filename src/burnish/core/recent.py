"""A bounded cache that keeps the values used last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by keys; when there are too many, the least recently used one is removed."""

    def __init__(self, most: int, drop: Callable[[V], object] | None = None) -> None:
        """Keep at most `most` values; `drop` is called with each removed value."""
        self.most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._drop = drop

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value of a key and mark it as used; None if the key is unknown."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Store a value, replacing the key's old one."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self.most:
            _, oldest = self._values.popitem(last=False)
            if self._drop:
                self._drop(oldest)
