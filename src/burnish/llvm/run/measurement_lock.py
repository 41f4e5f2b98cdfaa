"""A lock that allows one measurement at a time on a machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def measurement_lock() -> Iterator[None]:
    """Hold the machine's measurement lock during a `with` block; wait until it is free.

    The lock is on the folder for temporary files, because every process has it and no lock file remains.
    """
    descriptor = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def quiet_core() -> int:
    """Return the core to measure on: the last allowed one, because the first ones handle interrupts."""
    return max(os.sched_getaffinity(0))
