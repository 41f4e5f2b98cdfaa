"""Record of files that burnish wrote: of files that a user did not name, only these may be overwritten."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path

from burnish.core.errors import InputError
from burnish.files import default_cache

MOST_BYTES = 1 << 20  # limit on the file of digests, 16,000 of them; above it, the newest half is kept
SHOWN = 5  # files that an error message names


def note_written(content: bytes) -> None:
    """Record the digest of a written file; if that fails, the next run needs --force."""
    with contextlib.suppress(OSError):
        path = _digests()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MOST_BYTES:
            lines = path.read_text(encoding="ascii").splitlines(keepends=True)
            path.write_text("".join(lines[len(lines) // 2 :]), encoding="ascii")
        with path.open("a", encoding="ascii") as file:
            file.write(_digest(content) + "\n")


def check_not_in_the_way(paths: Sequence[Path]) -> None:
    """Check that no files exist at these paths except files that burnish wrote.

    Raises:
        InputError: there are other files; the message names them and the option --force.
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
