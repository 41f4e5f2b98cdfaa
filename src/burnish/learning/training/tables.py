"""TOML tables as frozen dataclasses; errors name the wrong key or value and the expected type."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from burnish.core.errors import InputError, UnknownName

T = TypeVar("T")

WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    type(None): "nothing",
}


def from_table(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """Make a dataclass from a table whose keys are its fields; a missing key takes the field's default.

    Args:
        kind: The dataclass. Its fields are numbers, texts, booleans, tuples, mappings, dataclasses,
            literals, and unions of these types.
        table: A table as tomllib reads it.
        where: File and table, for errors: "ppo.toml: algorithm".

    Raises:
        UnknownName: there is no such field; the message suggests the nearest ones.
        InputError: a field without default is missing, a value has the wrong type, or the dataclass
            rejects a value.
    """
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    values = {}
    for name, value in table.items():
        if name not in fields:
            raise UnknownName(f"{where}: {UnknownName.among('key', name, fields)}")
        values[name] = convert(hints[name], value, f"{where}.{name}")
    for name, field in fields.items():
        missing = field.default is field.default_factory is dataclasses.MISSING
        if missing and name not in values:
            raise InputError(f"{where}: {name} is missing; expected {words(hints[name])}")
    try:
        return kind(**values)
    except (InputError, ValueError) as error:
        raise InputError(f"{where}: {error}") from None


def convert(hint: Any, value: Any, where: str) -> Any:
    """Convert a TOML value to a type: lists become tuples, whole numbers floats, tables dataclasses.

    Raises:
        InputError: the value does not have that type.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _first_that_fits(arguments, value, where, hint)
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return from_table(typing.cast(type[Any], hint), value, where)
    if origin is tuple and isinstance(value, (list, tuple)):
        return _tuple(arguments, value, where, hint)
    if origin is Literal and value in arguments:
        return value
    if origin is Literal and isinstance(value, str):
        raise UnknownName(f"{where}: {UnknownName.among('choice', value, map(str, arguments))}")
    if (origin or hint) in (dict, Mapping) or origin is typing.get_origin(Mapping[str, Any]):
        if isinstance(value, Mapping):
            return dict(value)
    elif hint is float and type(value) is int:
        return float(value)
    elif isinstance(hint, type) and type(value) is hint:
        return value
    raise InputError(f"{where}: expected {words(hint)}, not {value!r}")


def words(hint: Any) -> str:
    """Return a type in words, for errors."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in WORDS:
        return WORDS[hint]
    if origin in (typing.Union, types.UnionType):
        return " or ".join(words(item) for item in arguments if item is not type(None))
    if origin is tuple and arguments[-1] is Ellipsis:
        return f"a list, each {words(arguments[0])}"
    if origin is tuple:
        return f"a list of {len(arguments)}: {', '.join(map(words, arguments))}"
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    return "a table"


def _first_that_fits(hints: tuple[Any, ...], value: Any, where: str, union: Any) -> Any:
    errors = []
    for hint in hints:
        try:
            return convert(hint, value, where)
        except InputError as error:
            errors.append(error)
    nested = [error for error in errors if not str(error).startswith(f"{where}: expected")]
    raise nested[0] if nested else InputError(f"{where}: expected {words(union)}, not {value!r}")


def _tuple(hints: tuple[Any, ...], values: typing.Sequence[Any], where: str, hint: Any) -> tuple[Any, ...]:
    if hints[-1] is Ellipsis:
        hints = (hints[0],) * len(values)
    if len(hints) != len(values):
        raise InputError(f"{where}: expected {words(hint)}, not {list(values)!r}")
    return tuple(
        convert(each, value, f"{where}[{number}]")
        for number, (each, value) in enumerate(zip(hints, values, strict=True))
    )
