"""A way in which another library computes a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Call = Callable[[], Any]


@dataclass(frozen=True)
class Way:
    """One way in which a peer computes a program; compiling and laying out weights (`make`) are not timed."""

    name: str
    make: Callable[[], Call]  # returns a function that computes once and returns the finished output
    result: Callable[[Any], NDArray[Any]]  # converts that output to the program's layout
    into: bool = False  # the function writes to an array that is made once
