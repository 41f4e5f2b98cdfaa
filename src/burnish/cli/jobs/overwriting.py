"""Files that burnish wrote: those alone may be written over where no user has named them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path

from burnish.core.errors import InputError
from burnish.files import default_cache

MOST_BYTES = 1 << 20  # of digests, 16,000 files; the newest half is kept
SHOWN = 5  # files that a message names


def note_written(content: bytes) -> None:
    """Note what was written; where that fails, --force is needed the next time."""
    with contextlib.suppress(OSError):
        path = _digests()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MOST_BYTES:
            lines = path.read_text(encoding="ascii").splitlines(keepends=True)
            path.write_text("".join(lines[len(lines) // 2 :]), encoding="ascii")
        with path.open("a", encoding="ascii") as file:
            file.write(_digest(content) + "\n")


def check_not_in_the_way(paths: Sequence[Path]) -> None:
    """Check that no file is there, but for what burnish wrote.

    Raises:
        InputError: another file is; the message names them and the option.
    """
    present = [path for path in paths if path.exists()]
    if not present:
        return
    ours: set[str] = set()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        ours = set(_digests().read_text(encoding="ascii").split())
    others = [path for path in present if not _is_of(path, ours)]
    if others:
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        names = ", ".join(map(str, others[:SHOWN]))
        raise InputError(
            f"{names}{more}: burnish did not write {'this file' if len(others) == 1 else 'these files'}; "
            "nothing was done: write elsewhere with -o, or over what is there with --force"
        )


def _is_of(path: Path, digests: set[str]) -> bool:
    try:
        return _digest(path.read_bytes()) in digests
    except OSError:
        return False


def _digests() -> Path:
    return default_cache() / "written"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
