"""A memory of earlier searches' results, across files and builds: later searches start from them.

A program is recognised by the identities of its sites (Session.identities). So a function is recognised if
another file, or an older version of the same file, contained it, whatever else changed. A search starts from
the whole-program entries of earlier programs that share at least half of its program's sites. To these it
adds, at each known site, the best entries that any program had after the same whole-program entries.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish.core.database import opened
from burnish.core.guide import Guide, GuideFor, InitialTraces, in_order
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM, Trace, entries_by_stage, is_begin, split_entry

ALIKE = 0.5  # share of a program's sites that an earlier program must have for its trace to be tried
TRIED = 3  # most earlier programs whose traces are tried, the most alike first

TRACES = """
-- digest: Program.key
CREATE TABLE IF NOT EXISTS programs (
    id INTEGER PRIMARY KEY, kind TEXT, digest TEXT, whole TEXT, trace TEXT, cost REAL, UNIQUE (kind, digest));
CREATE TABLE IF NOT EXISTS sites (
    program INTEGER REFERENCES programs ON DELETE CASCADE, identity TEXT, tail TEXT);
CREATE INDEX IF NOT EXISTS by_identity ON sites (identity);
CREATE INDEX IF NOT EXISTS by_program ON sites (program);
"""


@dataclass
class Memory:
    """The memory of one search: makes guides that propose the file's traces before those of another guide.

    Attributes:
        path: A SQLite database, created if missing; processes may share it.
        task: The task of the traces; results with other options are ignored.
        program: The program of the search.
        objective: The objective to minimise.
        guide_for: Makes the other guide.
    """

    path: Path
    task: Task
    program: Program
    objective: str
    guide_for: GuideFor | None = None
    _identities: dict[str, str] = field(default_factory=dict)

    def __call__(self, session: Session) -> Guide:
        """Return the guide for the opened program, with the remembered traces first.

        Raises:
            InputError: the file is not such a database, or cannot be written.
        """
        guide = self.guide_for(session) if self.guide_for else Guide()
        return replace(guide, initial_traces=first_of(self.look_up(session), guide.initial_traces))

    def look_up(self, session: Session) -> list[Trace]:
        """Return the remembered traces for an opened program, the most promising first.

        Raises:
            InputError: as above.
        """
        self._identities = session.identities()
        return self.recall(self._identities)

    def same(self) -> tuple[Trace, float] | None:
        """Return the best trace of exactly this program, with its cost; None if the program is unknown.

        Raises:
            InputError: as above.
        """
        with opened(self.path, TRACES) as database:
            row = database.execute(
                "SELECT trace, cost FROM programs WHERE kind = ? AND digest = ?",
                (self._kind, self.program.key),
            ).fetchone()
        return (tuple(json.loads(row[0])), row[1]) if row else None

    def recall(self, identities: Mapping[str, str]) -> list[Trace]:
        """Return the remembered traces for a program whose sites have these identities, as `look_up` does.

        Raises:
            InputError: as above.
        """
        different = set(identities.values())
        wanted = json.dumps(sorted(different))
        with opened(self.path, TRACES) as database:
            same = database.execute(
                "SELECT trace FROM programs WHERE kind = ? AND digest = ?", (self._kind, self.program.key)
            ).fetchall()
            alike = database.execute(
                "SELECT id, whole FROM programs JOIN sites ON program = id"
                " WHERE kind = ? AND digest <> ? AND identity IN (SELECT value FROM json_each(?))"
                " GROUP BY id HAVING COUNT(DISTINCT identity) >= ?"
                " ORDER BY COUNT(DISTINCT identity) DESC, id DESC LIMIT ?",
                (self._kind, self.program.key, wanted, ALIKE * len(different), TRIED),
            ).fetchall()
            others = [
                entries_by_stage(
                    tuple(json.loads(whole)), self._at_sites(database, number, whole, identities)
                )
                for number, whole in alike
            ]
        return list(dict.fromkeys([*(tuple(json.loads(trace)) for (trace,) in same), *others]))

    def keep(self, trace: Trace, cost: float) -> None:
        """Store the result of a search of the program, unless one of at most the same cost is stored.

        Raises:
            InputError: as above.
        """
        whole, suffixes = _apart(trace)
        sites = self._identities.items()
        with opened(self.path, TRACES) as database:
            database.execute("BEGIN IMMEDIATE")
            key = (self._kind, self.program.key)
            known = database.execute(
                "SELECT cost FROM programs WHERE kind = ? AND digest = ?", key
            ).fetchone()
            if known and known[0] <= cost:
                return
            database.execute("DELETE FROM programs WHERE kind = ? AND digest = ?", key)
            number = database.execute(
                "INSERT INTO programs (kind, digest, whole, trace, cost) VALUES (?, ?, ?, ?, ?)",
                (*key, json.dumps(whole), json.dumps(trace), cost),
            ).lastrowid
            rows = [(number, value, json.dumps(suffixes.get(site, ()))) for site, value in sites]
            database.executemany("INSERT INTO sites VALUES (?, ?, ?)", rows)

    @property
    def _kind(self) -> str:
        """The key of comparable results: task, objective and options as JSON."""
        return json.dumps([self.task.id, self.objective, self.task.options], sort_keys=True)

    def _at_sites(
        self, database: sqlite3.Connection, number: int, whole: str, identities: Mapping[str, str]
    ) -> dict[str, Trace]:
        """Return the best stored actions at each of these sites, after the same whole-program entries."""
        suffixes = dict(
            database.execute(
                "SELECT identity, tail FROM sites JOIN programs ON program = id"
                " WHERE kind = ? AND whole = ? AND identity IN (SELECT value FROM json_each(?))"
                " ORDER BY program = ?, program",  # the last one counts: that program's own, else the latest
                (self._kind, whole, json.dumps(sorted(set(identities.values()))), number),
            ).fetchall()
        )
        return {site: tuple(json.loads(suffixes.get(value, "[]"))) for site, value in identities.items()}


def merge_traces(database: sqlite3.Connection) -> None:
    """Add the traces of a database that is attached as `other`; of two for one program, the cheaper stays."""
    database.execute(
        "DELETE FROM programs WHERE EXISTS (SELECT 1 FROM other.programs AS better WHERE"
        " better.kind = programs.kind AND better.digest = programs.digest AND better.cost < programs.cost)"
    )
    database.execute(
        "INSERT OR IGNORE INTO programs (kind, digest, whole, trace, cost)"
        " SELECT kind, digest, whole, trace, cost FROM other.programs"
    )
    database.execute(
        "INSERT INTO sites SELECT ours.id, identity, tail FROM other.sites JOIN other.programs AS theirs"
        " ON program = theirs.id JOIN programs AS ours USING (kind, digest)"
        " WHERE NOT EXISTS (SELECT 1 FROM main.sites AS known WHERE known.program = ours.id)"
    )


def first_of(traces: list[Trace], others: InitialTraces) -> InitialTraces:
    """Yield some initial traces before others."""
    yield from in_order(traces)
    yield from others


def _apart(trace: Trace) -> tuple[Trace, dict[str, Trace]]:
    """Return the entries on the whole program, and the actions at each site.

    The entry that begins a stage is among a site's actions, too, if the site has actions in that stage.
    """
    whole: Trace = ()
    suffixes: dict[str, Trace] = {}
    for text in trace:
        site, action = split_entry(text)
        if site == WHOLE_PROGRAM:
            whole += (text,)
            continue
        begun = [text for text in whole if is_begin(text)]
        known = suffixes.get(site, ())
        suffixes[site] = (*known, *begun[sum(map(is_begin, known)) :], action)
    return whole, suffixes
