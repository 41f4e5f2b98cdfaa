"""SQLite databases in files that several processes share."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from burnish.core.errors import InputError

PATIENCE_SECONDS = 10.0  # to wait for another process that writes


@contextmanager
def opened(path: Path, schema: str) -> Iterator[sqlite3.Connection]:
    """Yield the database in a file, with the tables of a schema; at the end, commit or undo.

    Raises:
        InputError: see `expected`.
    """
    with expected(path), closing(connected(path, schema)) as database, database:
        yield database


def connected(path: Path, schema: str) -> sqlite3.Connection:
    """Return a connection to the database in a file, with the tables of a schema."""
    database = sqlite3.connect(path, timeout=PATIENCE_SECONDS)
    try:
        database.execute("PRAGMA foreign_keys = ON")
        database.executescript(schema)
    except sqlite3.Error:
        database.close()
        raise
    return database


@contextmanager
def expected(path: Path) -> Iterator[None]:
    """Raise SQLite's errors about a file as errors of the user's.

    Raises:
        InputError: the file is not such a database, or cannot be written; its cause is SQLite's error.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(f"{path}: {error}; expected a file that burnish made, or a new one") from error
