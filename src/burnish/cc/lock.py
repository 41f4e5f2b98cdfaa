"""burnish.lock: the trace of each object and program of a project, so that every machine makes the same.

A JSON line with the versions, then one line for each object or program, sorted by its file. Paths are
relative to the lock's folder.
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
from burnish.cc.requests import KeptReference
from burnish.core.errors import InputError
from burnish.core.trace import Trace
from burnish.files import write_atomically

NAME = "burnish.lock"
UNITS, MODULE = "units", "linked module"  # names for linked files, which have no source
AGAIN = "write it again by burnish lock"


@dataclass(frozen=True)
class Lock:
    """A lock as it was read.

    Attributes:
        folder: The folder that its paths are relative to.
        traces: By output and source; () if nothing smaller than the compiler's was found.
    """

    folder: Path
    traces: dict[tuple[str, str], Trace]

    def trace(self, output: Path, source: str) -> Trace | None:
        """Return the trace of an object; None if the lock does not have it."""
        return self.traces.get(_names(self.folder, Path.cwd(), output, source))


def locked_trace(path: Path, output: Path, source: str) -> Trace:
    """Return the trace of an object or a program in a lock.

    Args:
        path: The lock.
        output: The object or the program.
        source: Of the object; UNITS for a whole program; MODULE for what binaryen's passes change.

    Raises:
        KeptReference: the lock does not have it, or nothing smaller was found.
    """
    trace = read_lock(path).trace(output, source)
    if trace is None:
        raise KeptReference(f"{path.name} does not have it; burnish lock adds it")
    if not trace:
        raise KeptReference("nothing smaller was found")
    return trace


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
    """Write the lock of some objects and programs; return their number.

    Args:
        path: The file, which is replaced.
        records: Their lines of the build log; those that no search was for are left out.

    Raises:
        InputError: the file cannot be written.
    """
    lines = []
    for record in records:
        if record.action == "passed through" or not record.command:
            continue
        source = UNITS if record.source.endswith(f" {UNITS}") else record.source
        output, source = _names(path.parent, Path(record.directory), Path(record.output), source)
        lines.append(json.dumps({"output": output, "source": source, "trace": record.trace}))
    text = "\n".join([json.dumps(_versions()), *sorted(lines)])
    write_atomically(path, f"{text}\n".encode())
    return len(lines)


def _names(folder: Path, directory: Path, output: Path, source: str) -> tuple[str, str]:
    if source not in (UNITS, MODULE):
        source = os.path.relpath(directory / source, folder)
    return os.path.relpath(directory / output, folder), source


def _versions() -> dict[str, str]:
    from burnish._native import llvm_version

    return {"burnish": __version__, "llvm": llvm_version()}


def _said(versions: Any) -> str:
    if not isinstance(versions, dict):
        return "no version"
    return ", ".join(f"{name} {version}" for name, version in versions.items())
