"""A cache of measurements on disk, which outlives sessions and runs; burnish works without it, too."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from burnish.files import default_cache
from burnish.llvm.run.processor import model, text_of
from burnish.llvm.toolchain import clang_version

T = TypeVar("T")

VERSION = 1  # increment it when the method of measurement changes
KEPT = 100_000  # measurements, about 10 MB on disk; the least recently used ones are removed first
DAY = 86_400  # seconds
WAIT_SECONDS = 2.0  # longest wait for another process that writes

Known = float | str  # a cost, or a description of the program's wrong behaviour

SCHEMA = """
    CREATE TABLE IF NOT EXISTS measured (key BLOB PRIMARY KEY, known, used INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS by_use ON measured (used);
"""


def default_path() -> Path:
    """Return the path of the user's cache of measurements."""
    return default_cache() / "measurements.sqlite"


def key_of(*parts: str | bytes) -> bytes:
    """Return the key of a measurement on this machine: 16 bytes, a hash of all parts."""
    key = hashlib.blake2b(f"{VERSION} {machine()}".encode(), digest_size=16)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        key.update(len(content).to_bytes(8, "little") + content)
    return key.digest()


@functools.cache
def machine() -> str:
    """Return a text that identifies the machine: all that a time depends on beside object and inputs.

    It contains the processor's model, the number of usable cores, the kernel, the installation (machine-id),
    and the versions of clang and the C library, because these link and load programs.
    """
    cores = len(os.sched_getaffinity(0))
    installation = text_of("/etc/machine-id").strip()
    return "; ".join(
        (model(), f"{cores} cores", platform.release(), installation, clang_version(), *platform.libc_ver())
    )


class MeasurementCache:
    """A file of measurements that several processes read and write.

    If the file is unusable (locked too long, disk full, folder read-only), `find` returns None and `keep`
    does nothing. A corrupt file is replaced by a new one.
    """

    def __init__(self, path: Path | None = None, kept: int = KEPT) -> None:
        self.path = path or default_path()
        self.kept = kept
        self._usable = True

    def find(self, key: bytes) -> Known | None:
        """Return the measurement of a key, or None if the cache does not have it."""

        def read(database: sqlite3.Connection) -> Known | None:
            row: tuple[Known, int] | None = database.execute(
                "SELECT known, used FROM measured WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            now = int(time.time())
            if now - row[1] > DAY:  # not at every read, because an update locks the file for other processes
                database.execute("UPDATE measured SET used = ? WHERE key = ?", (now, key))
            return row[0]

        return self._do(read)

    def keep(self, key: bytes, known: Known) -> None:
        """Add a measurement; if the file has too many, remove the least recently used ones."""
        most = self.kept

        def write(database: sqlite3.Connection) -> None:
            row = (key, known, int(time.time()))
            database.execute("INSERT OR REPLACE INTO measured VALUES (?, ?, ?)", row)
            (count,) = database.execute("SELECT COUNT(*) FROM measured").fetchone()
            if count > most:  # remove a tenth at a time
                database.execute(
                    "DELETE FROM measured WHERE key IN (SELECT key FROM measured ORDER BY used LIMIT ?)",
                    (count - most + most // 10,),
                )

        self._do(write)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        if not self._usable:
            return None
        try:
            try:
                return self._connected(work)
            except sqlite3.OperationalError:  # locked, read-only, a full disk
                raise
            except sqlite3.DatabaseError:  # not a database, or a corrupt one
                self.path.unlink(missing_ok=True)
                return self._connected(work)
        except (sqlite3.Error, OSError):
            self._usable = False
            return None

    def _connected(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Open the file for one operation only, so that no forked process inherits a connection."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(self.path, timeout=WAIT_SECONDS)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'by_use'").fetchone():
                database.executescript(SCHEMA)
            with database:
                return work(database)
