"""A memory of builds as a file: what it has, in numbers, and what another one adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnish.cc.kept import SCHEMA, limit
from burnish.core.database import opened
from burnish.search.memory import TRACES, merge_traces


@dataclass(frozen=True)
class Contents:
    """The contents of a memory, in numbers."""

    objects: int  # objects and whole programs
    smaller: int  # those of them that are smaller than the compiler's
    compilations: int  # and links
    units: int  # of whole programs
    functions: int  # with traces that searches begin with
    file_bytes: int


def contents(path: Path) -> Contents:
    """Return the contents of a memory.

    Raises:
        InputError: the file is not a memory.
    """
    with opened(path, SCHEMA + TRACES) as database:

        def count(rows: str) -> int:
            return int(database.execute(f"SELECT COUNT(*) FROM {rows}").fetchone()[0])

        counts = (
            count("objects"),
            count("objects WHERE content IS NOT NULL"),
            count("sources"),
            count("units"),
            count("(SELECT DISTINCT identity FROM sites)"),
        )
    return Contents(*counts, path.stat().st_size)


def merge(path: Path, other: Path) -> None:
    """Add the objects and traces of another memory; of two for the same key, the smaller one stays.

    Raises:
        InputError: one of the files is not a memory.
    """
    with opened(other, SCHEMA + TRACES):
        pass
    with opened(path, SCHEMA + TRACES) as database:
        database.execute("ATTACH DATABASE ? AS other", (str(other),))
        database.execute("BEGIN IMMEDIATE")
        database.execute(
            "INSERT INTO objects SELECT * FROM other.objects WHERE true ON CONFLICT (key) DO UPDATE"
            " SET cost = excluded.cost, effort = MAX(effort, excluded.effort), found = excluded.found,"
            " content = excluded.content WHERE excluded.cost < cost"
        )
        for table in ("sources", "fronts", "units"):
            database.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table}")
        merge_traces(database)
        limit(database)
