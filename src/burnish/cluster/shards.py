"""Shards' results: files that are written whole.

A run is a folder. A shard is done when its file is there, so any engine continues where any other stopped:

    results/NAME.json     {"machine": the kind of processor, "value": ...}
    failures/NAME.txt     the traceback of the last failure
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from burnish import _native
from burnish.core.decoding import json_object
from burnish.core.errors import InputError
from burnish.files import write_atomically
from burnish.workers.executor import Shard

RESULTS, FAILURES = "results", "failures"
_host = cache(_native.host_machine)  # LLVM takes 0.15 ms to read it


@dataclass(frozen=True)
class Outcome:
    """A shard's value or failure, as its process writes it."""

    name: str
    value: str = ""  # JSON
    failure: str = ""  # a traceback


def make_folder(folder: Path) -> None:
    """Make the folder of a run.

    Raises:
        InputError: it cannot be made.
    """
    try:
        for part in (RESULTS, FAILURES):
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}") from None


def attempt(shard: Shard) -> Outcome:
    """Do a shard's work; an exception is its failure, except Ctrl-C and exits."""
    try:
        with own_core() if shard.pinned else contextlib.nullcontext():
            value = shard.work(*shard.arguments)
        return Outcome(shard.name, json.dumps({"machine": _host().cpu, "value": value}))
    except Exception:
        return Outcome(shard.name, failure=traceback.format_exc())


def store(folder: Path, outcome: Outcome) -> None:
    """Write a shard's result or failure, whole.

    Raises:
        InputError: the folder cannot be written.
    """
    if outcome.failure:
        write_atomically(failure_file(folder, outcome.name), outcome.failure.encode())
    else:
        write_atomically(result_file(folder, outcome.name), outcome.value.encode())
        failure_file(folder, outcome.name).unlink(missing_ok=True)


def do(shards: Sequence[Shard], folder: Path) -> Iterator[str]:
    """Do the shards that are not done, one after the other, and yield their names."""
    for shard in shards:
        if not is_done(folder, shard.name):
            store(folder, attempt(shard))
        yield shard.name


def result_file(folder: Path, name: str) -> Path:
    """Return the path of a shard's result."""
    return folder / RESULTS / f"{name}.json"


def failure_file(folder: Path, name: str) -> Path:
    """Return the path of a shard's last failure."""
    return folder / FAILURES / f"{name}.txt"


def is_done(folder: Path, name: str) -> bool:
    """Return whether a shard's result is on disk."""
    return result_file(folder, name).exists()


def failure_of(folder: Path, name: str) -> str:
    """Return the traceback of a shard's last failure; "" without one."""
    try:
        return failure_file(folder, name).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def value_of(folder: Path, name: str) -> Any:
    """Return the value of a shard that is done.

    Raises:
        InputError: the file is not a shard's result.
    """
    return _read(folder, name)["value"]


def machine_of(folder: Path, name: str) -> str:
    """Return the kind of processor that did a shard, as LLVM names it: "znver3".

    Raises:
        InputError: the file is not a shard's result.
    """
    return str(_read(folder, name)["machine"])


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = result_file(folder, name)
    found = json_object(path.read_text(encoding="utf-8"))
    if found.keys() != {"machine", "value"}:
        raise InputError(f"{path}: not the result of a shard; remove the file to do the shard again")
    return found


@contextlib.contextmanager
def own_core() -> Iterator[None]:
    """Bind this process to a core that no other shard on this machine has; to any core if all are taken.

    The lock of a core ends with its process.
    """
    before = os.sched_getaffinity(0)
    with contextlib.ExitStack() as held:
        for core in sorted(before):
            path = Path(tempfile.gettempdir()) / f"burnish-core-{os.getuid()}-{core}.lock"
            file = held.enter_context(path.open("w"))
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.sched_setaffinity(0, {core})
                break
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)
