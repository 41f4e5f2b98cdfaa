"""Projects that are built by their own Makefiles."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from burnish.cc import build_log

SAME_BUILD = {
    "SOURCE_DATE_EPOCH": "1700000000",
    "KBUILD_BUILD_USER": "nobody",
    "KBUILD_BUILD_HOST": "nowhere",
}


def make(folder: Path, *words: str) -> None:
    """Run make in a folder of sources; the date and the user are the same in each build.

    Raises:
        RuntimeError: it fails.
    """
    command = ["make", "-s", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **SAME_BUILD},
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{(done.stdout + done.stderr)[-2000:]}")


def counts(log: Path) -> dict[str, int]:
    """Return the number of objects that burnish made smaller, of those that it tried, and of all."""
    actions = [record.action for record in build_log.read(log)]
    smaller = actions.count("optimized")
    return {"smaller": smaller, "tried": smaller + actions.count("kept"), "objects": len(actions)}
