"""Lines of JSON as dataclasses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from burnish.core.errors import InputError

T = TypeVar("T")

# What msgspec says.
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_WRONG_TYPE = re.compile(r"Expected (.*), got (.*) - at `\$\.(\w+)(.*)`")

_WORDS = {"Trace": "a list of texts", "tuple[str, ...]": "a list of texts", "str": "a text"}


def decode(kind: type[T], line: str, what: str) -> T:
    """Return the dataclass whose fields a line has; a field that it does not have takes its default.

    Lists become tuples, and whole numbers floats, where the dataclass has those.

    Raises:
        InputError: the line is not `what`: a field is missing, unknown, or of another type.
    """
    import msgspec  # 10 ms, and most commands read no such line

    row = json_object(line, what)
    types = {item.name: str(item.type) for item in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(row.keys() - types):
        raise InputError(f"not {what}: this version of burnish has no field {unknown[0]!r}")
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"not {what}: {_reason(str(error), row, types)}") from None


def _reason(said: str, row: Mapping[str, Any], types: Mapping[str, str]) -> str:
    if missing := _MISSING.fullmatch(said):
        return f"the field {missing[1]!r} is missing"
    if not (wrong := _WRONG_TYPE.fullmatch(said)):
        return said
    expected, found, name, place = wrong.groups()
    if place:
        return f"the field {name + place!r}: expected {expected}, not {found}"
    return f"the field {name!r} is {row[name]!r:.40}; expected {_WORDS.get(types[name], types[name])}"


def json_object(line: str, what: str = "a JSON object") -> dict[str, Any]:
    """Return the object that a line is, or raise InputError: it is not `what`."""
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not {what}: {error.msg} at column {error.colno}") from None
    if not isinstance(found, dict):
        raise InputError(f"not {what}: expected an object in braces")
    return found
