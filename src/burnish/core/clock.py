"""Clocks that measure time budgets: wall-clock time, and processor time."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

# Linux' clock type for the processor time of all threads of a process: include/linux/posix-timers_types.h
OF_A_PROCESS = 2


class Clock(Protocol):
    """A clock that measures time budgets."""

    def now(self, processes: Iterable[int] = ()) -> float:
        """Return the time in seconds; `processes` are the ids of children that still run."""

    def forked(self) -> Clock:
        """Return the clock for a process that is forked now; it continues from the current time."""


@dataclass(frozen=True)
class WallClock:
    """Wall-clock time, by time.monotonic()."""

    def now(self, processes: Iterable[int] = ()) -> float:
        """See Clock."""
        return time.monotonic()

    def forked(self) -> WallClock:
        """See Clock."""
        return self


@dataclass(frozen=True)
class ProcessorClock:
    """Processor time of this process and its children; other processes do not advance it."""

    before: float = 0.0  # seconds that were used before this process began

    def now(self, processes: Iterable[int] = ()) -> float:
        """See Clock."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = time.process_time() + ended.ru_utime + ended.ru_stime
        return self.before + own + sum(map(_taken_by, processes))

    def forked(self) -> ProcessorClock:
        """See Clock."""
        return ProcessorClock(self.now())


WALL = WallClock()
PROCESSORS = ProcessorClock()


def _taken_by(process: int) -> float:
    with contextlib.suppress(OSError):  # ended and reaped, so RUSAGE_CHILDREN counts the process
        return time.clock_gettime((~process << 3) | OF_A_PROCESS)  # clock_getcpuclockid(3)
    return 0.0
