"""Clocks that budgets of time are measured by: the wall's, and the processors'."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

OF_A_PROCESS = 2  # Linux' clock of what all threads of a process take: include/linux/posix-timers_types.h


class Clock(Protocol):
    """What a budget of time is measured by."""

    def now(self, processes: Iterable[int] = ()) -> float:
        """Return the time in seconds; children that still run are given by their numbers."""

    def forked(self) -> Clock:
        """Return the clock for a process that is forked now: it goes on from here."""


@dataclass(frozen=True)
class WallClock:
    """time.monotonic(): what a user waits for."""

    def now(self, processes: Iterable[int] = ()) -> float:
        """See Clock."""
        return time.monotonic()

    def forked(self) -> WallClock:
        """See Clock."""
        return self


@dataclass(frozen=True)
class ProcessorClock:
    """What this process and its children have taken of the processors: it stands still while others run.

    Attributes:
        before: What was taken before this process began, in seconds.
    """

    before: float = 0.0

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
    with contextlib.suppress(OSError):  # it has ended, and was waited for
        return time.clock_gettime((~process << 3) | OF_A_PROCESS)  # clock_getcpuclockid(3)
    return 0.0
