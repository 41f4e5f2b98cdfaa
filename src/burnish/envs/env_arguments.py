"""Checks of environments' arguments; errors name the argument, its value and the expected kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from burnish.core.argument_checks import whole_number_in
from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.workers.worker import check_limits

MAKER = "a function from a number to a Program: lambda number: load_program('hot.c')"

RESET_OPTIONS = ("program", "reward", "state")


def steps_in(given: int | None) -> int | None:
    """Return max_steps; None stands for the default.

    Raises:
        InputError: `given` is not a whole number, 1 or more.
    """
    return None if given is None else whole_number_in("max_steps", given, 1)


def check_kinds(dense: Any, limits: Any, render_mode: Any) -> None:
    """Check the types of `dense`, `limits` and `render_mode`; each may be None.

    Raises:
        InputError: an argument has another type or value.
    """
    if not isinstance(dense, bool | None):
        raise InputError(f"dense={dense!r}: expected True, False or None")
    check_limits(limits)
    if render_mode not in (None, "ansi"):
        raise InputError(f"render_mode={render_mode!r}: expected 'ansi' or None")


def check_reset_options(options: Any, known: tuple[str, ...] = RESET_OPTIONS) -> dict[str, Any]:
    """Return the options of reset() as a dictionary.

    Raises:
        UnknownName: an option is unknown.
        InputError: the options are not a dictionary.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InputError(f"reset(options={options!r}): expected a dictionary, such as {{'program': 'hot.c'}}")
    for name in options:
        if name not in known:
            raise UnknownName.among("option of reset()", name, known)
    return dict(options)


def check_call(name: str, function: Callable[..., Any], arguments: tuple[Any, ...], expected: str) -> None:
    """Check that a user's function takes some arguments; it is not called.

    Raises:
        InputError: the function takes other arguments.
    """
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise InputError(f"{name}: {error}; expected {expected}") from None
    except ValueError:  # Python cannot find the function's signature
        return


def made(program: Any, number: int) -> Program:
    """Return the program that a user's function made from a number.

    Raises:
        InputError: the function returned something else.
    """
    if not isinstance(program, Program):
        raise InputError(f"programs({number}) returned {program!r:.60}; expected {MAKER}")
    return program
