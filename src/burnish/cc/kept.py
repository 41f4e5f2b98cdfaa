"""Objects of earlier builds, in a SQLite file: an unchanged file gets its object without a search.

Two keys lead to an object. One is the command, the compiler's own object and the content of each file that
the front end read: if all are equal, nothing is compiled once more. The other one is the front end's module:
with another comment in a header, only the front end runs again. burnish.search.memory has more tables in the
same file.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from io import FileIO
from pathlib import Path
from typing import Any

from burnish.cc.command_key import digest
from burnish.cc.outcomes import Outcome, Sizes
from burnish.cc.refusals import too_small
from burnish.cc.requests import DEFAULT_OBJECTIVE, DriverOptions, default_memory
from burnish.core.database import connected, expected
from burnish.core.errors import InputError

MOST_BYTES = 512 << 20  # of the file; then the quarter is deleted that was not used for the longest time
MOST_PLANS = 1000
DAY_SECONDS = 86400.0  # the time of the last use is stored once a day

_OBJECTIVE = "--objective="

# Another form of these tables needs other names.
SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    key TEXT PRIMARY KEY, cost INTEGER, effort REAL, found TEXT, content BLOB, used REAL);
CREATE TABLE IF NOT EXISTS sources (
    key TEXT, contents TEXT, files TEXT, name TEXT, object TEXT REFERENCES objects ON DELETE CASCADE,
    compilation TEXT, reference BLOB, used REAL, PRIMARY KEY (key, contents));
CREATE TABLE IF NOT EXISTS kinds (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS plans (key TEXT PRIMARY KEY, plan TEXT);
CREATE INDEX IF NOT EXISTS by_name ON sources (name);
CREATE INDEX IF NOT EXISTS by_object ON sources (object);
-- modules of objects that no command can make again: those of rustc
CREATE TABLE IF NOT EXISTS fronts (
    name TEXT PRIMARY KEY, key TEXT, object TEXT REFERENCES objects ON DELETE CASCADE, front BLOB);
CREATE INDEX IF NOT EXISTS by_front ON fronts (key);
CREATE INDEX IF NOT EXISTS front_of ON fronts (object);
-- the compiler's own objects, of units of whole programs
CREATE TABLE IF NOT EXISTS units (key TEXT PRIMARY KEY, seconds REAL, content BLOB, used REAL);
-- the programs whose links have searched with a unit in the last day
CREATE TABLE IF NOT EXISTS shares (unit TEXT, program TEXT, used REAL, PRIMARY KEY (unit, program));
"""


@dataclass(frozen=True)
class Compilation:
    """A compilation that made an object, or a link of a whole program, as it can be searched once more."""

    source: str  # of a link, the program
    level: str
    command: tuple[str, ...]  # of clang -cc1, or of the linker
    before: Sizes | None  # of the compiler's object
    compiler: str  # with its version
    is_gnu: bool
    compiler_seconds: float  # processor time
    directory: str
    arguments: tuple[str, ...]  # of the compiler
    options: tuple[str, ...]  # of burnish
    cxx: bool
    is_link: bool = False
    target: str = ""  # see ClangJobs
    surroundings: str = ""  # see surroundings_of

    @property
    def objective(self) -> str:
        """The objective of the searches."""
        named = [word.removeprefix(_OBJECTIVE) for word in self.options if word.startswith(_OBJECTIVE)]
        return named[-1] if named else DEFAULT_OBJECTIVE

    @classmethod
    def parse(cls, text: str) -> Compilation:
        """Parse the JSON of the fields."""
        fields = json.loads(text)
        lists = {name: tuple(fields[name]) for name in ("command", "arguments", "options")}
        before = fields["before"] and Sizes(**fields["before"])
        return cls(**(fields | lists | {"before": before}))


@dataclass(frozen=True)
class Remembered:
    """A compilation in the memory, with the object that is kept for it."""

    compilation: Compilation
    key: str  # of the command with the compiler's object
    contents: str  # of the files, as contents_of gives it
    files: tuple[str, ...]
    effort: float  # processor time of searches so far, in seconds
    cost: int  # bytes by the objective: of the object, or of the compiler's

    @property
    def multiple(self) -> float:
        """The search so far, in units of the compiler's own time."""
        return self.effort / max(self.compilation.compiler_seconds, 1e-3)


@dataclass(frozen=True)
class Kept:
    """The result of all searches for one module.

    Attributes:
        key: See Key.of_module.
        effort: The processor time that searches had, in seconds.
        found: The fields of an Outcome: reason, trace, saved_in_groups, after.
        content: The object; None if nothing smaller than the compiler's was found.
    """

    key: str
    effort: float
    found: dict[str, Any]
    content: bytes | None

    def outcome(self, unsearched: Outcome) -> Outcome:
        """Return the outcome with this object."""
        told = replace(unsearched, recalled=True, reason=self.found["reason"])
        if self.content is None:
            return told
        trace, groups = tuple(self.found["trace"]), self.found["saved_in_groups"]
        after = Sizes(**self.found["after"])
        return replace(told, action="optimized", after=after, trace=trace, saved_in_groups=groups)


@dataclass(frozen=True)
class ObjectMemory:
    """The objects in one file; processes may share it.

    The connection is opened at the first use, and serves this process only: a forked one opens its own.
    """

    path: Path

    def unchanged(self, key: str) -> tuple[Kept, Compilation] | None:
        """Return an object by a key of `Key.of_object`, if all files that were read are unchanged.

        Returns:
            The object and its compilation.
        """
        with self._database() as database:
            rows = database.execute(
                "SELECT contents, files, object, compilation FROM sources WHERE key = ? ORDER BY used DESC",
                (key,),
            ).fetchall()
            for contents, files, module, compilation in rows:
                if contents == contents_of(json.loads(files)) and (kept := self._kept(database, module)):
                    return kept, Compilation.parse(compilation)
        return None

    def same_module(self, key: str) -> Kept | None:
        """Return an object by a key of `Key.of_module`; None if there is not any."""
        with self._database() as database:
            return self._kept(database, key)

    def same_object(self, key: str) -> tuple[Kept, Compilation, bytes] | None:
        """Return an object by a key of `Key.of_module`, its latest compilation, and the compiler's object."""
        with self._database() as database:
            kept = self._kept(database, key)
            row = database.execute(
                "SELECT compilation, reference FROM sources WHERE object = ? ORDER BY used DESC LIMIT 1",
                (key,),
            ).fetchone()
        return (kept, Compilation.parse(row[0]), zlib.decompress(row[1])) if kept and row else None

    def knows_kind(self, key: str) -> bool:
        """Return whether burnish's back end makes clang's objects of a kind; see burnish.cc.object_kind."""
        with self._database() as database:
            return bool(database.execute("SELECT 1 FROM kinds WHERE key = ?", (key,)).fetchone())

    def keep_kind(self, key: str) -> None:
        """Store a kind for which this has been found."""
        with self._database() as database:
            database.execute("INSERT OR IGNORE INTO kinds VALUES (?)", (key,))

    def plan(self, key: str) -> tuple[list[str], str, str, str] | None:
        """Return a plan that `keep_plan` stored; None if it is unknown."""
        with self._database() as database:
            row = database.execute("SELECT plan FROM plans WHERE key = ?", (key,)).fetchone()
        return tuple(json.loads(row[0])) if row else None

    def keep_plan(self, key: str, plan: tuple[list[str], str, str, str]) -> None:
        """Store a job without names, clang's version, its target and surroundings; see known_plans.Alike."""
        with self._database() as database:
            database.execute("INSERT OR REPLACE INTO plans VALUES (?, ?)", (key, json.dumps(plan)))
            database.execute(
                "DELETE FROM plans WHERE rowid <= (SELECT max(rowid) FROM plans) - ?", (MOST_PLANS,)
            )

    def previous(self, name: str) -> tuple[str, ...]:
        """Return the trace of a command's latest object, whatever its files contained; () without one."""
        with self._database() as database:
            row = database.execute(
                "SELECT found FROM sources JOIN objects ON object = objects.key"
                " WHERE name = ? AND content IS NOT NULL"
                " ORDER BY sources.used DESC, sources.rowid DESC LIMIT 1",
                (name,),
            ).fetchone()
        return tuple(json.loads(row[0])["trace"]) if row else ()

    def latest(self, name: str, directory: str) -> Compilation | None:
        """Return the latest compilation of a command in a directory, whatever its files contained."""
        with self._database() as database:
            row = database.execute(
                "SELECT compilation FROM sources WHERE name = ?"
                " AND json_extract(compilation, '$.directory') = ? ORDER BY used DESC, rowid DESC LIMIT 1",
                (name, directory),
            ).fetchone()
        return Compilation.parse(row[0]) if row else None

    def keep(self, kept: Kept, cost: int) -> Kept:
        """Store an object, or add its effort to a stored one that is at least as small; return the better."""
        with self.together(), self._database() as database:
            row = database.execute("SELECT cost FROM objects WHERE key = ?", (kept.key,)).fetchone()
            known = self._kept(database, kept.key)
            if known and row[0] <= cost:
                database.execute(
                    "UPDATE objects SET effort = MAX(effort, ?) WHERE key = ?", (kept.effort, kept.key)
                )
                return replace(known, effort=max(known.effort, kept.effort))
            content = kept.content and zlib.compress(kept.content, 1)
            values = (kept.key, cost, kept.effort, json.dumps(kept.found), content, time.time())
            # not REPLACE, which would delete the sources, too
            database.execute(
                "INSERT INTO objects VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE"
                " SET cost = excluded.cost, effort = MAX(effort, excluded.effort), found = excluded.found,"
                " content = excluded.content",
                values,
            )
            limit(database)
        return kept

    def keep_source(
        self,
        key: str,
        name: str,
        module: str,
        files: Sequence[str],
        compilation: Compilation,
        reference: bytes,
    ) -> None:
        """Store the way from a command to an object that is kept.

        Args:
            key: Of `Key.of_object`.
            name: Of the command; see Key.
            module: Of `Key.of_module`.
            files: All files that the front end read, as it named them.
            compilation: The compilation.
            reference: The compiler's object.
        """
        if (contents := contents_of(files)) is None:
            return
        known = (key, contents, module, compilation.directory, compilation.surroundings)
        with self._database() as database:
            last = database.execute(
                "SELECT key, contents, object, json_extract(compilation, '$.directory'),"
                " json_extract(compilation, '$.surroundings') FROM sources"
                " WHERE name = ? ORDER BY used DESC, rowid DESC LIMIT 1",
                (name,),
            ).fetchone()
            if last == known:
                return
            row = (key, contents, json.dumps(files), name, module, json.dumps(asdict(compilation)))
            database.execute(
                "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, zlib.compress(reference, 1), time.time()),
            )

    def same_front(self, key: str) -> Kept | None:
        """Return an object by the key of `keep_front`; None if there is not any."""
        with self._database() as database:
            row = database.execute("SELECT object FROM fronts WHERE key = ?", (key,)).fetchone()
            return self._kept(database, row[0]) if row else None

    def keep_front(self, key: str, module: str, front: bytes) -> None:
        """Store the module of a compilation that is kept; it replaces the one before the last change.

        Args:
            key: Of the compilation with this module.
            module: Of `Key.of_module`.
            front: The module, with all that a search needs.
        """
        with self._database() as database:
            database.execute(
                "INSERT OR REPLACE INTO fronts SELECT name, ?, object, ? FROM sources WHERE object = ?"
                " LIMIT 1",
                (key, zlib.compress(front, 1), module),
            )
            limit(database)

    def unit(self, key: str) -> tuple[bytes, float] | None:
        """Return the compiler's object by a key of `Key.of_unit`, and its processor time; None if unknown."""
        with self._database() as database:
            row = database.execute(
                "SELECT content, seconds, used FROM units WHERE key = ?", (key,)
            ).fetchone()
            if not row:
                return None
            content, seconds, used = row
            self._use(database, "units", key, used)
        return zlib.decompress(content), seconds

    def keep_unit(self, key: str, content: bytes, seconds: float) -> None:
        """Store the compiler's object of a unit, for which it took that much processor time."""
        values = key, seconds, zlib.compress(content, 1), time.time()
        with self._database() as database:
            database.execute("INSERT OR IGNORE INTO units VALUES (?, ?, ?, ?)", values)
            limit(database)

    def share(self, units: Sequence[str], program: str) -> list[int]:
        """Store that a program's link searches with some units.

        Returns:
            For each unit, the number of programs of the last day, with this one.
        """
        now = time.time()
        with self.together(), self._database() as database:
            database.execute("DELETE FROM shares WHERE used < ?", (now - DAY_SECONDS,))
            rows = [(unit, program, now) for unit in units]
            database.executemany("INSERT OR REPLACE INTO shares VALUES (?, ?, ?)", rows)
            counted = "SELECT COUNT(*) FROM shares WHERE unit = ?"
            return [database.execute(counted, (unit,)).fetchone()[0] for unit in units]

    def compilations(self, directory: Path) -> list[Remembered]:
        """Return the latest compilation or link of each command at or below a directory, unless too small."""
        with self._database() as database:
            rows = database.execute(
                "SELECT sources.key, contents, files, name, compilation, effort, cost FROM sources"
                " JOIN objects ON object = objects.key ORDER BY sources.used, sources.rowid"
            ).fetchall()
        latest: dict[tuple[str, str], Remembered] = {}
        for key, contents, files, name, text, effort, cost in rows:
            compilation = Compilation.parse(text)
            large = compilation.before and not too_small(compilation.before.text_bytes)
            if large and Path(compilation.directory).is_relative_to(directory):
                read = tuple(json.loads(files))
                latest[compilation.directory, name] = Remembered(
                    compilation, key, contents, read, effort, cost
                )
        return list(latest.values())

    def reference(self, key: str, contents: str) -> bytes:
        """Return the compiler's object of a compilation.

        Raises:
            InputError: the memory does not have it any more.
        """
        return self._stored("reference FROM sources", key, contents)

    def front(self, key: str, contents: str) -> bytes:
        """Return the module of a compilation as `keep_front` has stored it.

        Raises:
            InputError: the memory does not have it any more.
        """
        return self._stored("front FROM fronts JOIN sources USING (object)", key, contents)

    def _stored(self, what: str, key: str, contents: str) -> bytes:
        with self._database() as database:
            row = database.execute(
                f"SELECT {what} WHERE sources.key = ? AND contents = ?", (key, contents)
            ).fetchone()
        if not row:
            raise InputError(f"{self.path}: a build has changed it: improve once more")
        return zlib.decompress(row[0])

    def _kept(self, database: sqlite3.Connection, key: str) -> Kept | None:
        row = database.execute(
            "SELECT effort, found, content, used FROM objects WHERE key = ?", (key,)
        ).fetchone()
        if not row:
            return None
        effort, found, content, used = row
        self._use(database, "objects", key, used)
        return Kept(key, effort, json.loads(found), zlib.decompress(content) if content else None)

    def _use(self, database: sqlite3.Connection, table: str, key: str, used: float) -> None:
        """Store that a row is used now, unless it was used today."""
        if used < (now := time.time()) - DAY_SECONDS:
            database.execute(f"UPDATE {table} SET used = ? WHERE key = ?", (now, key))

    def check(self) -> None:
        """Raise InputError if the file cannot be written."""
        with self.together():
            pass

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Store what the block stores in one transaction: a commit waits ten milliseconds for a disk."""
        with self._database() as database:
            if not database.in_transaction:
                database.execute("BEGIN IMMEDIATE")
            yield

    @contextlib.contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection; at the end, commit or undo, but for a part of `together`."""
        with expected(self.path):
            if self._connection.in_transaction:
                yield self._connection
            else:
                with self._connection as database:
                    yield database

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        database = connected(self.path, SCHEMA)
        database.execute("PRAGMA synchronous = OFF")  # as other caches: a build does not wait for the disk
        return database


@lru_cache(maxsize=1)
def memory_in(path: Path) -> ObjectMemory:
    """Return the memory in a file; all steps of a command share its connection."""
    return ObjectMemory(path)


def checked(options: DriverOptions) -> DriverOptions:
    """Return the options, without the memory of all builds if it cannot be used, and with the reason.

    A broken one is put aside, with a line on standard error, and a new one begins.
    """
    memory = options.memory
    if not memory or memory != default_memory():
        return options
    for _ in range(2):
        try:
            memory.parent.mkdir(parents=True, exist_ok=True)
            memory_in(memory).check()
            return options
        except (InputError, OSError) as error:
            why = str(error)
            memory_in.cache_clear()
            if not isinstance(error.__cause__, sqlite3.DatabaseError) or isinstance(
                error.__cause__, sqlite3.OperationalError
            ):  # a full disk, a lock, no permission
                break
        broken = memory.with_suffix(".broken")
        with contextlib.suppress(OSError):
            memory.replace(broken)
            sys.stderr.write(f"burnish: {memory} is broken; it is now {broken.name}, and a new one begins\n")
    return replace(options, memory=None, memory_error=why)


def contents_of(files: Iterable[str]) -> str | None:
    """Return the digest of the contents of files; None if one cannot be read."""
    try:
        return digest(*map(_read, files))
    except OSError:
        return None


def _read(name: str) -> bytes:
    with FileIO(name) as file:  # Path.read_bytes takes twice as long
        return file.read()


def parse_dependencies(text: str) -> list[str]:
    """Return the files after the target of a rule for make, as clang's -dependency-file writes it.

    The format does not tell all names with a backslash apart; such a file will not be found, then.
    """
    _, _, names = text.replace("\\\n", " ").partition(":")
    words = re.findall(r"(?:\\.|[^\s\\])+", names)
    return [re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$") for word in words]


def limit(database: sqlite3.Connection) -> None:
    """Delete what was not used for the longest time if the file is too large."""
    size, pages, free = (
        database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_size", "page_count", "freelist_count")
    )
    if size * (pages - free) <= MOST_BYTES:
        return
    for table, age in (("objects", "used"), ("units", "used"), ("programs", "id")):
        with contextlib.suppress(sqlite3.OperationalError):  # the table was not needed yet
            database.execute(
                f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY {age}"
                f" LIMIT (SELECT COUNT(*) / 4 FROM {table}))"
            )
