"""Files of measured schedules: lines of JSON, one for each dataclass of a measurement."""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from burnish.core.decoding import decode
from burnish.core.errors import InputError
from burnish.files import parse_json_lines, read_json_lines

T = TypeVar("T")
Key = tuple[str, int]
"""A program as text, and the size of vectors in its code, in bytes."""


def line_of(row: Any) -> str:
    """Return a measurement as a line of JSON."""
    return json.dumps(asdict(row))


def read_rows(path: Path, kind: type[T]) -> list[T]:
    """Read the rows of a LineFile, without a last line that was cut off, or of an xz-compressed copy.

    Raises:
        InputError: a line is something else.
    """
    parse = partial(decode, kind, what="a measured schedule")
    if path.suffix != ".xz":
        return read_json_lines(path, parse, appended=True)
    try:
        text = lzma.decompress(path.read_bytes()).decode()
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected measured schedules, compressed by xz: {error}") from None
    return parse_json_lines(text, parse, str(path))
