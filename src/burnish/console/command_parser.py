"""Parsing of a command's options by argparse; an error is one line that names the next step."""

from __future__ import annotations

import argparse
import difflib
import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from burnish.core.errors import InputError, UnknownName

Kind = Callable[[str], Any]


class CommandParser(argparse.ArgumentParser):
    """An ArgumentParser that raises its errors as InputError, without the usage.

    Options and other words may come in any order, unless there are subcommands.
    """

    def __init__(self, *, compiler: str = "", subcommand: bool = False, **options: Any) -> None:
        """Make a parser.

        Args:
            compiler: An example of the command with options for the compiler after --; "" if it takes none.
            subcommand: Whether this is a subcommand's parser.
            options: The arguments of ArgumentParser.
        """
        options.setdefault("formatter_class", Paragraphs)
        super().__init__(exit_on_error=False, **options)
        self._compiler, self._is_subcommand = compiler, subcommand
        self._add_rest: list[Callable[[], None]] = []

    def add_when_needed(self, add: Callable[[], None]) -> None:
        """Call `add`, which adds options, only for words with --help or with an option that is not there."""
        self._add_rest.append(add)

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the options in a command's words.

        Raises:
            InputError: a word is unknown or missing, or a value is wrong.
        """
        known = {*self._option_names()}
        if asks_for_help(words) or any(
            word.startswith("--") and word.partition("=")[0] not in known for word in words
        ):
            for add in self._add_rest:
                add()
        return self._read(
            self.parse_known_args if self._subparsers else self.parse_known_intermixed_args, list(words), None
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """See ArgumentParser; a subcommand reports unknown words itself, to suggest its own options."""
        if not self._is_subcommand:
            return super().parse_known_args(args, namespace)
        return self._read(super().parse_known_args, args, namespace), []

    def _read(self, read: Callable[..., Any], words: Any, namespace: Any) -> argparse.Namespace:
        try:
            options, rest = read(words, namespace)
        except argparse.ArgumentError as error:
            raise self._wrong(error) from None
        if rest:
            raise self._unknown(rest)
        found: argparse.Namespace = options
        return found

    def error(self, message: str) -> Any:
        """Raise an error of argparse's as an InputError."""
        raise self._wrong(argparse.ArgumentError(None, message))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Check a value against the choices: called by argparse."""
        if action.choices is not None and value not in action.choices:
            raise UnknownName.among(_name(action).lstrip("-").lower(), str(value), map(str, action.choices))

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert a value: called by argparse. The type's InputError gets the option's name."""
        try:
            return super()._get_value(action, arg_string)
        except InputError as error:
            raise InputError(f"{_name(action)} {error}") from None

    @property
    def _help(self) -> str:
        return f"see {self.prog} --help"

    def _wrong(self, error: argparse.ArgumentError) -> InputError:
        """Return argparse's error as an InputError that names the next step."""
        text, name = error.message, error.argument_name
        if missing := text.partition("required: ")[2]:
            text = f"expected {missing}"
        elif name and text.startswith("expected"):
            flag = name.split("/")[-1]
            metavar = next((one.metavar for one in self._actions if flag in one.option_strings), None)
            text = f"{name}: expected a value: {flag} {metavar or flag.lstrip('-').upper()}"
        elif name:
            text = f"{name}: {text}"
        return InputError(f"{text}; {self._help}")

    def _unknown(self, rest: Sequence[str]) -> InputError:
        """Return the error for words that no option or argument takes."""
        word = next((word for word in rest if word.startswith("-")), rest[0])
        if not word.startswith("-"):
            return InputError(f"{word!r} is one word too many for {self.prog}; {self._help}")
        name = word.partition("=")[0]
        near = difflib.get_close_matches(name, list(self._option_names()), n=1, cutoff=0.6)
        steps = [f"did you mean {near[0]}?" if near else f"{self._help}."]
        if self._compiler:
            steps.append(f"Options for the compiler come after --: {self._compiler}")
        return InputError(f"{self.prog} has no option {name}; {' '.join(steps)}".removesuffix("."))

    def _option_names(self) -> Iterator[str]:
        for action in self._actions:
            yield from (name for name in action.option_strings if name.startswith("--"))


def asks_for_help(words: Sequence[str]) -> bool:
    """Return whether words ask for a command's help."""
    return "-h" in words or "--help" in words


class Paragraphs(argparse.HelpFormatter):
    """A formatter that keeps line breaks in descriptions and epilogs, and wraps each line."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(super(Paragraphs, self)._fill_text(line, width, indent) for line in text.split("\n"))


def shell_words(text: str) -> tuple[str, ...]:
    """Read an option's words as a shell reads them."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"{text}: {str(error).lower()}; expected words as a shell reads them") from None


def whole_number(least: int) -> Kind:
    """Return an option type: a whole number, `least` or more."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or number < least:
            raise InputError(f"{text}: expected a whole number, {least} or more")
        return number

    return read


def positive(unit: str = "") -> Kind:
    """Return an option type: a finite number above 0, in some unit."""

    def read(text: str) -> float:
        number = _number(text)
        if not 0 < number < math.inf:
            raise InputError(f"{text}: expected a number{f' of {unit}' if unit else ''} above 0")
        return number

    return read


def share(text: str) -> float:
    """Read a number between 0 and 1, without both ends."""
    number = _number(text)
    if not 0 < number < 1:
        raise InputError(f"{text}: expected a number between 0 and 1, such as 0.95")
    return number


SEED = whole_number(0)
COUNT = whole_number(1)
SECONDS = positive("seconds")
GIBIBYTES = positive("GiB")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _name(action: argparse.Action) -> str:
    return action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest)
