"""Build log: one JSON line for each object that a build wrote.

A log that reaches MOST_BYTES is renamed to the same name with ".1", in place of the previous one, so both
together take at most twice that. The process that renames a log holds a lock on it. The launcher does the
same (native/launcher/record.cpp).
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from burnish.core.decoding import decode
from burnish.core.errors import InputError

MOST_BYTES = 32 << 20  # about 10,000 files, with their commands

Action = Literal["optimized", "kept", "passed through"]


@dataclass(frozen=True)
class Record:
    """The outcome for one translation unit."""

    time: str  # UTC, ISO 8601
    directory: str  # the compiler's; source and output are as the command named them
    source: str
    output: str  # the object, or the program if one command compiles and links
    level: str
    action: Action
    reason: str  # why it is not smaller than clang's; "" if it is
    # Bytes that a linked, stripped program loads of clang's object, and of the final object; None if clang's
    # object was a temporary file that was not measured.
    loaded_bytes_before: int | None
    loaded_bytes: int | None
    text_bytes_before: int | None  # machine code only
    text_bytes: int | None
    seconds: float  # processor time, beyond clang's own
    trace: tuple[str, ...]
    evaluations: int
    compiler: str
    # clang -cc1 as it ran in the directory, or the whole command if the launcher logged it (see
    # burnish.cc.remaking); () in lines of earlier versions
    command: tuple[str, ...] = ()
    crashes: int = 0  # of the compiler, in worker processes during the search; 0 in earlier lines
    # part of the saving, in loaded bytes, by COMDAT group (see burnish.cc.copies)
    saved_in_groups: Mapping[str, int] = field(default_factory=dict)
    evict_policy: str = ""  # the file; see DriverOptions
    recalled: bool = False  # an earlier build found the object
    memory_error: str = ""  # why nothing was remembered

    @property
    def output_path(self) -> pathlib.Path:
        """The output as an absolute path."""
        return pathlib.Path(os.path.normpath(pathlib.Path(self.directory, self.output)))


def default_log() -> pathlib.Path:
    """Return the user's build log, by the XDG base directory specification."""
    state = pathlib.Path(os.environ.get("XDG_STATE_HOME", ""))
    base = state if state.is_absolute() else pathlib.Path.home() / ".local" / "state"
    return base / "burnish" / "cc.jsonl"


def append(log: pathlib.Path, record: Record) -> None:
    """Append a line by one write, so that lines of compilers that run at the same time do not mix.

    Raises:
        OSError: the log cannot be written.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, (json.dumps(asdict(record)) + "\n").encode())
        _rotate(descriptor, log)
    finally:
        os.close(descriptor)


def read(log: pathlib.Path) -> list[Record]:
    """Return the records, oldest first; lines of other versions are left out.

    Raises:
        InputError: there is no such log, or it cannot be read.
    """
    if not log.is_file():
        if cause := why_not_writable(log):
            raise InputError(
                f"{log}: the build log could not be written: {cause}; build with another one: "
                'CC="burnish cc --report /tmp/cc.jsonl", then burnish report /tmp/cc.jsonl'
            )
        raise InputError(f'{log}: no build log; build something first: make CC="burnish cc" CFLAGS=-Oz')
    try:
        return [record for line in _lines(log) if (record := _record(line)) is not None]
    except OSError as error:
        raise InputError(f"{log}: the build log cannot be read: {error.strerror}") from None


def why_not_writable(log: pathlib.Path) -> str:
    """Return why the log cannot be written; "" if it can. No new file is left."""
    try:
        if log.exists():
            log.open("ab").close()
        else:
            folder = next(one for one in log.absolute().parents if os.path.lexists(one))
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return f"{error.filename or folder}: {error.strerror}"
    return ""


def _lines(log: pathlib.Path) -> Iterator[str]:
    """Yield the lines of the previous log, then of this one, which may be renamed meanwhile."""
    with log.open(encoding="utf-8", errors="replace") as now:
        before = _older(log)
        if before.is_file() and not os.path.samestat(before.stat(), os.fstat(now.fileno())):
            with before.open(encoding="utf-8", errors="replace") as lines:
                yield from lines
        yield from now


def _older(log: pathlib.Path) -> pathlib.Path:
    return log.with_name(f"{log.name}.1")


def _rotate(descriptor: int, log: pathlib.Path) -> None:
    """Rename a log that has grown large, unless another process has just done so."""
    ours = os.fstat(descriptor)
    if not stat.S_ISREG(ours.st_mode) or ours.st_size < MOST_BYTES:
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    if log.exists() and os.path.samestat(ours, log.stat()):
        log.replace(_older(log))


def _record(line: str) -> Record | None:
    try:
        return decode(Record, line, "a line of a build log")
    except InputError:
        return None
