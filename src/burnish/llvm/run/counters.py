"""Hardware and kernel counters (Linux perf events) for programs that this thread starts."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Sequence
from types import TracebackType

from burnish import _native
from burnish.core.errors import MissingTool, UnknownName

# linux/perf_event.h: (type, config).
COUNTERS = {
    "cycles": (0, 0),
    "instructions": (0, 1),
    "task-clock": (1, 1),  # nanoseconds; counted by the kernel, so every machine has it
}
_READING = struct.Struct("QQQ")  # value, time enabled, time running


class Counters:
    """Open counters: they count user code, from exec on, in programs that this thread starts."""

    def __init__(self, names: Sequence[str]) -> None:
        """Open counters by their names in COUNTERS.

        Raises:
            MissingTool: the machine lacks a counter, or does not allow reading it.
        """
        self._descriptors: dict[str, int] = {}
        try:
            for name in names:
                self._descriptors[name] = _open(name)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Counters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self) -> dict[str, int]:
        """Return the counts so far, by name; the programs must have ended."""
        return {name: scaled(os.read(item, _READING.size)) for name, item in self._descriptors.items()}

    def close(self) -> None:
        """Close the counters."""
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])


def scaled(reading: bytes) -> int:
    """Return a reading's value; if the kernel multiplexed counters, extrapolate it to the whole time."""
    value, enabled, running = map(int, _READING.unpack(reading))
    return value if running in (0, enabled) else round(value * enabled / running)


def _open(name: str) -> int:
    if name not in COUNTERS:
        raise UnknownName.among("counter", name, COUNTERS)
    descriptor = _native.open_counter(*COUNTERS[name])
    if descriptor >= 0:
        return descriptor
    why = os.strerror(-descriptor)
    if -descriptor in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENOSYS):
        raise MissingTool(
            f"this machine has no counter of {name} ({why}), like most virtual machines: measure "
            "'seconds' instead"
        )
    raise MissingTool(
        f"the counter of {name} cannot be read ({why}); allow it with: sysctl kernel.perf_event_paranoid=2"
    )
