"""Temporary folders that do not pile up when processes are killed."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "burnish-run-"


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder and remove it at the end; each process first removes folders of killed processes.

    A folder is locked while it is in use. All names have the same length, because the name shifts the start
    of a program's stack, and that address can change the program's speed.
    """
    _sweep(Path(tempfile.gettempdir()))
    folder, lock = _make()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _make() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with contextlib.suppress(FileNotFoundError):  # swept before it was locked
            if (lock := _lock(folder)) is not None:
                if folder.exists():
                    return folder, lock
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """Return a descriptor that holds the folder's lock; None if another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


@functools.cache  # once in a process
def _sweep(where: Path) -> None:
    for folder in where.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's folder, or already removed
            if (lock := _lock(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
