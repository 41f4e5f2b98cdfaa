"""One JSON line for each object that a build wrote."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Literal

from burnish.core.errors import InputError
from burnish.files import json_object

Action = Literal["optimized", "kept", "passed through"]


@dataclass(frozen=True)
class Record:
    """What became of one translation unit."""

    time: str  # UTC, ISO 8601
    directory: str  # where the compiler ran; source and output are as the command named them
    source: str
    output: str  # the object, or the program where one command compiles and links
    level: str
    action: Action
    reason: str  # why it is not smaller than clang's; "" where it is
    # What a linked, stripped program loads for clang's object, and for the one that stands now; None where
    # that was a temporary file that nobody looked at.
    loaded_bytes_before: int | None
    loaded_bytes: int | None
    text_bytes_before: int | None  # machine code alone
    text_bytes: int | None
    seconds: float  # beyond clang's own
    trace: tuple[str, ...]
    evaluations: int
    compiler: str
    # clang -cc1 as it ran in the directory, or the whole command where the launcher logged it (see
    # burnish.driver.remaking); () in lines of earlier versions
    command: tuple[str, ...] = ()
    # loaded bytes, by COMDAT group: part of what was saved (see burnish.driver.copies)
    saved_in_groups: Mapping[str, int] = field(default_factory=dict)

    @property
    def output_path(self) -> pathlib.Path:
        """The output as an absolute path."""
        return pathlib.Path(os.path.normpath(pathlib.Path(self.directory, self.output)))


_NAMES = {one.name for one in fields(Record)}
_REQUIRED = _NAMES - {"command", "saved_in_groups"}


def default_log() -> pathlib.Path:
    """Return the user's build log, by the XDG base directory specification."""
    state = pathlib.Path(os.environ.get("XDG_STATE_HOME", ""))
    base = state if state.is_absolute() else pathlib.Path.home() / ".local" / "state"
    return base / "burnish" / "cc.jsonl"


def append(log: pathlib.Path, record: Record) -> None:
    """Add a line by one write, so that compilers that run at the same time do not mix theirs.

    Raises:
        OSError: the log cannot be written.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, (json.dumps(asdict(record)) + "\n").encode())
    finally:
        os.close(descriptor)


def read(log: pathlib.Path) -> list[Record]:
    """Return the records, oldest first; lines of another version are left out.

    Raises:
        InputError: there is no such log.
    """
    if not log.is_file():
        raise InputError(f'{log}: no build log; build something first: make CC="burnish cc" CFLAGS=-Oz')
    with log.open(encoding="utf-8", errors="replace") as lines:
        return [record for line in lines if (record := _record(line)) is not None]


def _record(line: str) -> Record | None:
    try:
        row = json_object(line)
    except InputError:
        return None
    if not _REQUIRED <= row.keys() <= _NAMES:
        return None
    return Record(**(row | {"trace": tuple(row["trace"]), "command": tuple(row.get("command", ()))}))
