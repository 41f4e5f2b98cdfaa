"""A lock: one measurement at a time on a machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process of this machine that does the same is in here.

    The folder for temporary files is what is locked: everyone has it, and nothing is left behind.
    """
    descriptor = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def quiet_core() -> int:
    """Return the core to measure on: the last one that is allowed, as the first ones answer interrupts."""
    return max(os.sched_getaffinity(0))
