"""Checks of what users give from Python: errors name the argument, its value and what was expected."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.core.worker import Limits


def names_in(argument: str, given: Any) -> tuple[str, ...]:
    """Return a list of names as a tuple.

    Raises:
        InputError: it is a single text, or no list; what is in it is looked up elsewhere.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        example = f"[{given!r}]" if isinstance(given, str) else "['name']"
        raise InputError(f"{argument}={given!r}: expected a list of names, such as {argument}={example}")
    return tuple(given)


def whole_number_in(argument: str, given: Any, least: int) -> int:
    """Return a whole number.

    Raises:
        InputError: it is something else, or less than `least`.
    """
    try:
        number = operator.index(given)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{argument}={given!r}: expected a whole number, {least} or more")
    return number


def steps_in(given: int | None) -> int | None:
    """Return max_steps; None is its default.

    Raises:
        InputError: it is not a whole number, 1 or more.
    """
    return None if given is None else whole_number_in("max_steps", given, 1)


def check_kinds(dense: Any, limits: Any, render_mode: Any) -> None:
    """Check arguments that are of a class of their own; None is the default of each.

    Raises:
        InputError: one is of another class.
    """
    if not isinstance(dense, bool | None):
        raise InputError(f"dense={dense!r}: expected True, False or None")
    check_limits(limits)
    if render_mode not in (None, "ansi"):
        raise InputError(f"render_mode={render_mode!r}: expected 'ansi' or None")


def check_limits(limits: Any) -> None:
    """Check the limits of a worker process; None is for no process.

    Raises:
        InputError: they are of another class, or not above 0.
    """
    if limits is None:
        return
    check_class("limits", limits, Limits, "burnish.Limits(deadline_seconds=60), or None")
    for name in ("deadline_seconds", "memory_bytes"):
        value = getattr(limits, name)
        if not isinstance(value, int | float) or not value > 0:
            raise InputError(f"Limits({name}={value!r}): expected a number above 0")


def path_in(argument: str, given: Any, example: str) -> Path:
    """Return a path.

    Raises:
        InputError: it is something else.
    """
    try:
        return Path(given)
    except TypeError:
        raise InputError(f"{argument}={given!r:.60}: expected a file's name, such as {example!r}") from None


def check_class(argument: str, given: Any, kind: type, example: str) -> None:
    """Check the class of an argument.

    Raises:
        InputError: it is of another class.
    """
    if not isinstance(given, kind):
        raise InputError(f"{argument}={given!r:.60}: expected {example}")


def check_reset_options(options: Any, known: tuple[str, ...] = ("program",)) -> dict[str, Any]:
    """Return the options of reset().

    Raises:
        UnknownName: there is no such option.
        InputError: they are not a dictionary.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InputError(f"reset(options={options!r}): expected a dictionary, such as {{'program': 'hot.c'}}")
    for name in options:
        if name not in known:
            raise UnknownName.among("option of reset()", name, known)
    return dict(options)


def check_maker(programs: Callable[[int], Program]) -> None:
    """Check that a function that makes programs takes one number.

    Raises:
        InputError: it takes something else.
    """
    try:
        inspect.signature(programs).bind(0)
    except TypeError as error:
        raise InputError(f"programs={programs!r}: {error}; expected {MAKER}") from None
    except ValueError:  # it has no signature that Python knows
        return


def made(program: Any, number: int) -> Program:
    """Return what a function made of a number.

    Raises:
        InputError: it is not a program.
    """
    if not isinstance(program, Program):
        raise InputError(f"programs({number}) returned {program!r:.60}; expected {MAKER}")
    return program


MAKER = "a function from a number to a Program: lambda number: load_program('hot.c')"
