"""Fewer cores for a part of a benchmark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Bind this process, and the processes that it starts meanwhile, to so many cores, or to all if fewer."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
