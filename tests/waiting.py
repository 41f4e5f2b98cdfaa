"""Waiting for an event itself, however slow the machine is."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

MOST_SECONDS = 300.0  # only what never comes takes that long


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[Any] | None = None) -> None:
    """Return when the condition holds; fail where the process ends before."""
    end = time.monotonic() + MOST_SECONDS
    while not condition():
        assert process is None or process.poll() is None, "the process ended first"
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class SetClock:
    """A clock that stands still until a test sets it: for a Budget, or in the place of a module's `time`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def monotonic(self) -> float:
        """Return the simulated time in seconds."""
        return self.seconds

    def now(self, processes: Iterable[int] = ()) -> float:
        """See burnish.core.clock.Clock."""
        return self.seconds

    def forked(self) -> SetClock:
        """See burnish.core.clock.Clock."""
        return self
