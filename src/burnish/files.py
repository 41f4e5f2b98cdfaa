"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from burnish.core.errors import InputError


def default_cache() -> Path:
    """Return the user's folder for what burnish can make again, by the XDG base directory specification."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "burnish"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that its name leads to the old content or to all of the new.

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
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class LineFile:
    """A file that lines are appended to: each is on disk, whole, when `append` returns, or not at all."""

    def __init__(self, path: Path, *, keep: bool) -> None:
        """Open it; half a line of a killed process is cut off.

        Args:
            path: The file; it may be there.
            keep: Whether to keep the lines that it has; else they go with the first that is appended.

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
            InputError: the disk is full, or the file was removed; the file is as it was before.
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


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a file that is appended to, none where there is no file.

    A last line that was cut off, when who wrote it was killed, is removed from the file.
    """
    text = path.read_text() if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_atomically(path, whole.encode())
    return whole.splitlines()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
