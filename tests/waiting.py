"""Waiting for an event itself, however slow the machine is."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
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


class Clock:
    """A module's `time` whose clock stands still until a test sets it."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def monotonic(self) -> float:
        """Return the simulated time in seconds."""
        return self.now
