"""Atomic writing of files, and files of JSON lines."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from burnish.core.errors import InputError

T = TypeVar("T")


def default_cache() -> Path:
    """Return the user's folder for files that burnish can make again, by the XDG base directory standard."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "burnish"


def default_data() -> Path:
    """Return the user's folder for files that burnish cannot make again alone, by the same standard."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "burnish"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically: readers see either the old content or the complete new content.

    Raises:
        InputError: the folder does not exist or cannot be written, or the disk is full; nothing was changed.
    """
    try:
        _write(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot write there: {error.strerror}") from None


def _write(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.umask(umask := os.umask(0))  # the only way to read it
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class LineFile:
    """A file of appended lines: `append` writes a line completely or not at all."""

    def __init__(self, path: Path, *, keep: bool) -> None:
        """Open the file, which may exist; with `keep`, cut off an incomplete last line of a killed process.

        Without `keep`, the first `append` removes the existing lines.

        Raises:
            InputError: the folder cannot be written.
        """
        self.path = path
        self._keep = keep
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            if keep:
                with open(self._descriptor, "rb", closefd=False) as file:
                    os.truncate(self._descriptor, file.read().rfind(b"\n") + 1)
        except OSError as error:
            raise InputError(f"{path}: cannot write there: {error.strerror}") from None

    def append(self, line: str) -> None:
        """Append a line.

        Raises:
            InputError: the disk is full, or the file was removed; the file is unchanged.
        """
        try:
            if os.fstat(self._descriptor).st_nlink == 0:
                raise FileNotFoundError(errno.ENOENT, "the file was removed")
            if not self._keep:
                os.truncate(self._descriptor, 0)
                self._keep = True
            end = os.lseek(self._descriptor, 0, os.SEEK_END)
            rest = memoryview(f"{line}\n".encode())
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                with contextlib.suppress(OSError):
                    os.truncate(self._descriptor, end)
                raise
        except OSError as error:
            raise InputError(f"{self.path}: cannot write there: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_json_lines(
    path: Path,
    parse: Callable[[str], T],
    *,
    appended: bool = False,
    remedy: str = "correct the line, or remove it",
    content: str = "JSON lines",
) -> list[T]:
    """Return the parsed lines of a file of JSON lines, without empty lines.

    Args:
        path: The file.
        parse: Parses a line; see burnish.core.decoding.
        appended: Whether a `LineFile` writes the file. Then the file may not exist yet, and an incomplete
            last line, left by a killed writer, is ignored.
        remedy: Advice for a malformed line, for the message.
        content: The expected content and the command that writes it, for the message.

    Raises:
        InputError: the file cannot be read, or a line is malformed.
    """
    if appended and not path.exists():
        return []
    text = read_text(path, content)
    lines = text[: text.rfind("\n") + 1] if appended else text
    return parse_json_lines(lines, parse, str(path), remedy, content)


def read_text(path: Path, content: str) -> str:
    """Return a file's text; `content` is what the message expects.

    Raises:
        InputError: the file cannot be read, or is not text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected {content}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: the file is not text; expected {content}") from None


def parse_json_lines(
    text: str,
    parse: Callable[[str], T],
    name: str,
    remedy: str = "correct the line, or remove it",
    content: str = "JSON lines",
) -> list[T]:
    """Return the parsed lines of a text, without empty lines: see `read_json_lines`."""
    first = next(filter(str.strip, text.split("\n")), "{")
    if not first.lstrip().startswith("{"):
        raise InputError(f"{name}: the file does not hold JSON objects; expected {content}")
    found = []
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines(): JSON strings may have other ends
        if line.strip():
            try:
                found.append(parse(line))
            except KeyError as error:
                raise InputError(f"{name}, line {number}: {error} is missing; {remedy}") from None
            except (InputError, ValueError, TypeError) as error:
                raise InputError(f"{name}, line {number}: {error}; {remedy}") from None
    return found
