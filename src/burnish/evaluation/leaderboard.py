"""Leaderboards: files of figures that anybody can append to, with the rows for checking each figure."""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from burnish.core.decoding import decode
from burnish.core.errors import InputError
from burnish.evaluation.rows import Row, parse_rows, write_rows
from burnish.evaluation.statistics import CONFIDENCE, Summary, summarise
from burnish.files import read_json_lines, write_atomically

CONTENT = "a leaderboard, as burnish evaluate --append FILE writes it"


@dataclass(frozen=True)
class Entry:
    """One method within one budget on one set of programs: a line of a leaderboard."""

    name: str
    date: str  # ISO 8601
    command: str  # the command that made the entry
    task: str  # with its version
    options: Mapping[str, str]
    toolchain: Mapping[str, str]
    programs: tuple[str, ...]  # names, as they were given
    sample: int | None  # number of programs that were drawn, by the seed; None: all
    count: int  # number of rows
    digest: str  # of the programs: see programs_digest
    objective: str
    reference: str
    method: str
    policy: str  # digest of the policy's file; "" if the method has no policy
    budget: str
    seed: int
    confidence: float
    ratio: float  # geometric mean, unguarded
    low: float | None  # None: a single program with an exact ratio
    high: float | None
    project_low: float | None
    project_high: float | None
    guarded: float
    wins: int
    ties: int
    losses: int
    failures: int
    rows: str  # path, relative to the leaderboard
    rows_digest: str  # of the rows' text

    def to_json(self) -> str:
        """Write the entry on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Entry:
        """Read an entry that to_json wrote.

        Raises:
            InputError: the line is not an entry.
        """
        return decode(cls, line, "an entry of a leaderboard")


@dataclass(frozen=True)
class Provenance:
    """The origin of rows: the command, task, programs and policies that made them."""

    name: str  # of the entries; "" for the methods' names
    command: str
    task: str
    options: Mapping[str, str]
    toolchain: Mapping[str, str]
    programs: tuple[str, ...]
    sample: int | None = None
    confidence: float = CONFIDENCE
    policies: Mapping[str, str] = field(default_factory=dict)  # digests, by method


def read_leaderboard(path: Path) -> list[Entry]:
    """Return the entries of a leaderboard.

    Raises:
        InputError: the file cannot be read, or a line is not an entry.
    """
    return read_json_lines(path, Entry.from_json, content=CONTENT)


def append_rows(
    path: Path, rows: Sequence[Row], origin: Provenance, *, date: str | None = None
) -> list[Entry]:
    """Append an entry for each method and budget; the rows are written to a folder beside the leaderboard.

    Args:
        path: The leaderboard; it is made if it does not exist.
        rows: Rows of one objective and seed.
        origin: The rows' origin.
        date: The entries' date; today by default.

    Raises:
        InputError: the file is not a leaderboard, or cannot be written.
    """
    entries = read_leaderboard(path) if path.exists() else []
    folder = path.with_name(f"{path.stem}.rows")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}") from None
    added = []
    several = len({row.method for row in rows}) > 1
    for budget, method in dict.fromkeys((row.budget, row.method) for row in rows):
        # The curves are most of a file, and checking a figure does not need them.
        kept = [replace(row, curve=()) for row in rows if (row.budget, row.method) == (budget, method)]
        content = write_rows(kept)
        rows_digest = text_digest(content)
        file = folder / f"{rows_digest}.jsonl.gz"
        write_atomically(file, gzip.compress(content, mtime=0))
        relative = file.relative_to(path.parent).as_posix()
        name = f"{origin.name} {method}" if origin.name and several else origin.name
        added.append(_entry(kept, replace(origin, name=name), date, relative, rows_digest))
    lines = "".join(f"{entry.to_json()}\n" for entry in [*entries, *added])
    write_atomically(path, lines.encode())
    return added


def _entry(rows: Sequence[Row], origin: Provenance, date: str | None, file: str, rows_digest: str) -> Entry:
    first = rows[0]
    return Entry(
        name=origin.name or first.method,
        date=date or datetime.date.today().isoformat(),
        command=origin.command,
        task=origin.task,
        options=dict(origin.options),
        toolchain=dict(origin.toolchain),
        programs=origin.programs,
        sample=origin.sample,
        count=len(rows),
        digest=programs_digest((row.program, row.digest) for row in rows),
        objective=first.objective,
        reference=first.reference,
        method=first.method,
        policy=origin.policies.get(first.method, ""),
        budget=first.budget,
        seed=first.seed,
        confidence=origin.confidence,
        rows=file,
        rows_digest=rows_digest,
        **figures_of(rows, origin.confidence),
    )


def figures_of(rows: Sequence[Row], confidence: float) -> dict[str, Any]:
    """Return an entry's figures, computed from its rows."""
    found: Summary = summarise(rows, confidence=confidence)[0]
    mean = found.unguarded
    return {
        "ratio": mean.ratio,
        "low": mean.low,
        "high": mean.high,
        "project_low": mean.project_low,
        "project_high": mean.project_high,
        "guarded": found.guarded.ratio,
        "wins": found.wins,
        "ties": found.ties,
        "losses": found.losses,
        "failures": found.failures,
    }


def rows_of_entry(path: Path, entry: Entry) -> list[Row]:
    """Return the rows of an entry.

    Raises:
        InputError: the file cannot be read, or its content has changed since the entry was made.
    """
    file = path.parent / entry.rows
    try:
        content = gzip.decompress(file.read_bytes())
    except (OSError, EOFError) as error:
        raise InputError(f"{file}: {error}") from None
    if text_digest(content) != entry.rows_digest:
        raise InputError(f"{file}: the rows were changed: their digest is not {entry.rows_digest}")
    return parse_rows(content, str(file))


def programs_digest(named: Iterable[tuple[str, str]]) -> str:
    """Return 32 hexadecimal digits over the programs' names and digests, independent of their order."""
    lines = sorted(f"{name}\0{digest}\n" for name, digest in named)
    return text_digest("".join(lines).encode())


def text_digest(content: bytes) -> str:
    """Return 32 hexadecimal digits of BLAKE2b."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
