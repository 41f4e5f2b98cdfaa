"""Checks of arguments from Python users; errors name the argument, its value and the expected kind."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from burnish.core.errors import InputError


def names_in(argument: str, given: Any) -> tuple[str, ...]:
    """Return a list of names as a tuple, or raise InputError; the names in it are checked elsewhere."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        example = f"[{given!r}]" if isinstance(given, str) else "['name']"
        raise InputError(f"{argument}={given!r}: expected a list of names, such as {argument}={example}")
    return tuple(given)


def whole_number_in(argument: str, given: Any, least: int) -> int:
    """Return a whole number, `least` or more, or raise InputError."""
    try:
        number = operator.index(given)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{argument}={given!r}: expected a whole number, {least} or more")
    return number


def path_in(argument: str, given: Any, example: str) -> Path:
    """Return a path, or raise InputError."""
    try:
        return Path(given)
    except TypeError:
        raise InputError(f"{argument}={given!r:.60}: expected a file's name, such as {example!r}") from None


def check_class(argument: str, given: Any, kind: type, example: str) -> None:
    """Raise InputError if an argument is of another class."""
    if not isinstance(given, kind):
        raise InputError(f"{argument}={given!r:.60}: expected {example}")
