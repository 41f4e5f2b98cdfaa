"""burnish.lock: the trace of each object of a project, so that every machine makes the same objects.

A JSON line with the versions, then one line for each object, sorted by its file. Paths are relative to the
lock's folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from burnish import __version__
from burnish.cc.build_log import Record
from burnish.core.errors import InputError
from burnish.core.trace import Trace
from burnish.files import write_atomically

NAME = "burnish.lock"
AGAIN = "write it again by burnish lock"


@dataclass(frozen=True)
class Lock:
    """A lock as it was read.

    Attributes:
        folder: The folder that its paths are relative to.
        traces: By object and source; () if nothing smaller than the compiler's object was found.
    """

    folder: Path
    traces: dict[tuple[str, str], Trace]

    def trace(self, output: Path, source: str) -> Trace | None:
        """Return the trace of an object; None if the lock does not have it."""
        return self.traces.get(_names(self.folder, Path.cwd(), output, source))


@lru_cache(maxsize=4)
def read_lock(path: Path) -> Lock:
    """Read a lock.

    Raises:
        InputError: it cannot be read, or other versions have written it, whose objects may differ.
    """
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        written = json.loads(first)
        traces = {}
        for line in lines:
            entry = json.loads(line)
            traces[entry["output"], entry["source"]] = tuple(map(str, entry["trace"]))
    except OSError as error:
        raise InputError(f"--lock {path}: {error.strerror}; {AGAIN}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"--lock {path}: {type(error).__name__}: {error}; expected a lock: {AGAIN}"
        ) from None
    if written != (here := _versions()):
        raise InputError(f"--lock {path}: it is of {_said(written)}, and this is {_said(here)}; {AGAIN}")
    return Lock(path.parent, traces)


def write_lock(path: Path, records: Iterable[Record]) -> int:
    """Write the lock of some objects; return their number.

    Args:
        path: The file, which is replaced.
        records: The objects' lines of the build log; those that no search was for are left out.

    Raises:
        InputError: the file cannot be written.
    """
    lines = []
    for record in records:
        if record.action == "passed through" or not record.command:
            continue
        output, source = _names(path.parent, Path(record.directory), Path(record.output), record.source)
        lines.append(json.dumps({"output": output, "source": source, "trace": record.trace}))
    text = "\n".join([json.dumps(_versions()), *sorted(lines)])
    write_atomically(path, f"{text}\n".encode())
    return len(lines)


def _names(folder: Path, directory: Path, output: Path, source: str) -> tuple[str, str]:
    return os.path.relpath(directory / output, folder), os.path.relpath(directory / source, folder)


def _versions() -> dict[str, str]:
    from burnish._native import llvm_version

    return {"burnish": __version__, "llvm": llvm_version()}


def _said(versions: Any) -> str:
    if not isinstance(versions, dict):
        return "no version"
    return ", ".join(f"{name} {version}" for name, version in versions.items())
