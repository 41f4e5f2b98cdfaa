"""Checks of the arguments of environments: errors name the argument, its value and what was expected."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from burnish.core.argument_checks import whole_number_in
from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.workers.worker import check_limits

MAKER = "a function from a number to a Program: lambda number: load_program('hot.c')"


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
