"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from burnish.core.errors import InputError


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that its name leads to the old content or to all of the new.

    Raises:
        InputError: the folder does not exist or cannot be written.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"{path}: cannot write there: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
