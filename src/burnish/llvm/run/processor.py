"""The processor of this machine, as the kernel describes it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import re
from pathlib import Path

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@functools.cache
def model() -> str:
    """Return the name of the processor's model."""
    found = re.search(r"^model name\s*:\s*(.*)$", text_of("/proc/cpuinfo"), re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def description(cpu: str) -> str:
    """Return a JSON object: the model, its usable cores, its caches in bytes, and the compiler's target."""
    return json.dumps(
        {"model": model(), "cores": len(os.sched_getaffinity(0)), "caches": caches(), "target": cpu}
    )


def caches() -> dict[str, int]:
    """Return the bytes of the first core's caches, such as {"L1 data": 32768, "L2 unified": 524288}."""
    found = {}
    for folder in sorted(CACHES.glob("index*")):
        level, kind, size = (text_of(folder / name).strip() for name in ("level", "type", "size"))
        if size.endswith("K"):
            found[f"L{level} {kind.lower()}"] = int(size[:-1]) << 10
    return found


def text_of(path: str | Path) -> str:
    """Return a file's text; "" if it cannot be read."""
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""
