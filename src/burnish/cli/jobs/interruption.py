"""Ctrl-C: the first one ends the searches and keeps their best results, the second one ends the program."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self


class Interruption:
    """A handler that notes the first Ctrl-C, and raises KeyboardInterrupt at once only if nothing is lost."""

    def __init__(self) -> None:
        self.asked = False
        self.at_once = False  # True: the first Ctrl-C also raises KeyboardInterrupt in the main thread
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked, True
        if again or self.at_once:
            raise KeyboardInterrupt
