"""A cache of measurements on disk: it outlives sessions and runs, and nobody depends on it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from burnish.files import default_cache
from burnish.llvm.toolchain import clang_version

T = TypeVar("T")

VERSION = 1  # one more whenever the same run would be measured otherwise
KEPT = 100_000  # measurements in a file of some 10 MB; those that nobody asked for longest go first
DAY = 86_400
WAIT_SECONDS = 2.0  # for another process that writes

Known = float | str  # a cost, or what the program does wrong

SCHEMA = """
    CREATE TABLE IF NOT EXISTS measured (key BLOB PRIMARY KEY, known, used INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS by_use ON measured (used);
"""


def default_path() -> Path:
    """Return the user's file of measurements."""
    return default_cache() / "measurements.sqlite"


def key_of(*parts: str | bytes) -> bytes:
    """Return the key of a measurement on this machine, of all that says what was measured: 16 bytes."""
    key = hashlib.blake2b(f"{VERSION} {machine()}".encode(), digest_size=16)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        key.update(len(content).to_bytes(8, "little") + content)
    return key.digest()


@functools.cache
def machine() -> str:
    """Return what a time depends on beside the object and its inputs, as text.

    That is the processor's model, how many cores may be used, the kernel, the installation (machine-id), and
    what links and loads: clang and the C library.
    """
    found = re.search(r"^model name\s*:\s*(.*)$", _text("/proc/cpuinfo"), re.MULTILINE)
    model = found[1] if found else platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0))
    installation = _text("/etc/machine-id").strip()
    return "; ".join(
        (
            model,
            f"{cores} cores",
            platform.release(),
            installation,
            clang_version(),
            *platform.libc_ver(),
        )
    )


class MeasurementCache:
    """A file of measurements that several processes read and write.

    Where it cannot be used - it is locked for long, the disk is full, the folder is read-only - nothing is
    known and nothing is kept. One that is broken is begun anew.
    """

    def __init__(self, path: Path | None = None, kept: int = KEPT) -> None:
        self.path = path or default_path()
        self.kept = kept
        self._usable = True

    def find(self, key: bytes) -> Known | None:
        """Return what is known; None where nothing is."""
        return self._do(lambda database: _find(database, key))

    def keep(self, key: bytes, known: Known) -> None:
        """Add what was measured, and drop what was not asked for longest where there is too much."""
        self._do(lambda database: _keep(database, key, known, self.kept))

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        if not self._usable:
            return None
        try:
            try:
                return self._connected(work)
            except sqlite3.OperationalError:  # locked, read-only, a full disk
                raise
            except sqlite3.DatabaseError:  # no database, or a broken one
                self.path.unlink(missing_ok=True)
                return self._connected(work)
        except (sqlite3.Error, OSError):
            self._usable = False
            return None

    def _connected(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Open the file for one piece of work: no connection is carried into a forked process."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(self.path, timeout=WAIT_SECONDS)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'by_use'").fetchone():
                database.executescript(SCHEMA)
            with database:
                return work(database)


def _find(database: sqlite3.Connection, key: bytes) -> Known | None:
    row: tuple[Known, int] | None = database.execute(
        "SELECT known, used FROM measured WHERE key = ?", (key,)
    ).fetchone()
    if row is None:
        return None
    now = int(time.time())
    if now - row[1] > DAY:  # not at each look: reading takes no lock from others
        database.execute("UPDATE measured SET used = ? WHERE key = ?", (now, key))
    return row[0]


def _keep(database: sqlite3.Connection, key: bytes, known: Known, most: int) -> None:
    row = (key, known, int(time.time()))
    database.execute("INSERT OR REPLACE INTO measured VALUES (?, ?, ?)", row)
    (count,) = database.execute("SELECT COUNT(*) FROM measured").fetchone()
    if count > most:  # a tenth at a time
        database.execute(
            "DELETE FROM measured WHERE key IN (SELECT key FROM measured ORDER BY used LIMIT ?)",
            (count - most + most // 10,),
        )


def _text(path: str) -> str:
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""
