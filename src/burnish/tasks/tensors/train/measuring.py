"""Files of measured schedules."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from burnish.core.errors import InputError
from burnish.files import parse_json_lines, read_json_lines

T = TypeVar("T")


def read_rows(path: Path, parse: Callable[[str], T]) -> list[T]:
    """Read the rows of a LineFile, without a last line that was cut off, or of an xz-compressed copy.

    Args:
        path: The file.
        parse: The function that parses a line.

    Raises:
        InputError: a line is something else.
    """
    if path.suffix != ".xz":
        return read_json_lines(path, parse, appended=True)
    try:
        text = lzma.decompress(path.read_bytes()).decode()
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected measured schedules, compressed by xz: {error}") from None
    return parse_json_lines(text, parse, str(path))
