"""A shard of known length, which leaves a line each time it is executed."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path


def busy(number: int, seconds: float, log: str) -> int:
    """Compute for some seconds, append the shard's number to a file, and return its square.

    Lines that are appended at once do not mix: the file is on a disk of this machine, with O_APPEND.
    """
    end = time.perf_counter() + seconds
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(descriptor, b"%d\n" % number)
    os.close(descriptor)
    while time.perf_counter() < end:
        pass
    return number * number


def executions(log: Path) -> Counter[int]:
    """Return the number of executions of each shard."""
    return Counter(map(int, log.read_text().split()))
