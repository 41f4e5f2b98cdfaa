"""Files of measured schedules: lines of JSON, one for each dataclass of a measurement."""

from __future__ import annotations

import json
import lzma
from collections.abc import Collection
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from burnish.core.decoding import decode
from burnish.core.errors import InputError
from burnish.files import parse_json_lines, read_json_lines

T = TypeVar("T")
ROW = "a measured schedule"
Key = tuple[str, int]
"""A program as text, and the size of vectors in its code, in bytes."""


def line_of(row: Any) -> str:
    """Return a measurement as a line of JSON."""
    return json.dumps(asdict(row))


def one_machine(machines: Collection[str]) -> str:
    """Return the machine that schedules were measured on; "" stands for an unknown one.

    Raises:
        InputError: there are several, whose times cannot be compared.
    """
    known = sorted({*machines} - {""})
    if len(known) > 1:
        raise InputError(
            f"schedules measured on {' and on '.join(known)}: expected one kind of machine in a table; "
            "run on nodes of one kind (slurm_constraint, for example), or begin a table in another folder"
        )
    return known[0] if known else ""


def read_rows(path: Path, kind: type[T]) -> list[T]:
    """Read the rows of a LineFile, without a last line that was cut off, or of an xz-compressed copy.

    Raises:
        InputError: a line is something else.
    """
    parse = partial(decode, kind, what=ROW)
    if path.suffix != ".xz":
        return read_json_lines(path, parse, appended=True)
    try:
        text = lzma.decompress(path.read_bytes()).decode()
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected measured schedules, compressed by xz: {error}") from None
    return parse_json_lines(text, parse, str(path))
