"""A nest as a user of Numba would write it: a loop for each iterator, a sum in a local variable."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from numba import njit

from burnish.tasks.loop_nests.nest import DTYPES, Call, Expression, Nest, Statement

BEGIN = {"+": "0", "*": "1", "max": "-math.inf", "min": "math.inf"}
NAMES = {
    "max": "max",
    "min": "min",
    "abs": "abs",
    "exp": "math.exp",
    "sqrt": "math.sqrt",
    "tanh": "math.tanh",
}


def compiled(nest: Nest) -> Callable[..., None]:
    """Return a function that takes the input arrays, then all written arrays."""
    lines = [f"def nest({', '.join([*nest.inputs, *nest.written])}):"]
    for statement in nest.statements:
        lines += [f"    {line}" for line in _lines(nest, statement)]
    names: dict[str, Any] = {"math": math, "number": DTYPES[nest.dtype]}
    exec("\n".join(lines), names)
    function: Callable[..., None] = njit(fastmath=True)(names["nest"])
    return function


def _lines(nest: Nest, statement: Statement) -> Iterator[str]:
    indent = ""
    for name in statement.free:
        yield f"{indent}for {name} in range({nest.extents[name]}):"
        indent += "    "
    if not statement.reduce:
        yield f"{indent}{statement.target} = {_text(statement.value)}"
        return
    outer = indent
    yield f"{outer}total = number({BEGIN[statement.reduce]})"
    for name in statement.reduced:
        yield f"{indent}for {name} in range({nest.extents[name]}):"
        indent += "    "
    if statement.reduce in NAMES:
        yield f"{indent}total = {statement.reduce}(total, {_text(statement.value)})"
    else:
        yield f"{indent}total {statement.reduce}= {_text(statement.value)}"
    yield f"{outer}{statement.target} = total"


def _text(value: Expression) -> str:
    if not isinstance(value, Call):
        return f"number({value})" if isinstance(value, float) else str(value)
    parts = [_text(argument) for argument in value.arguments]
    if value.function in NAMES:
        return f"{NAMES[value.function]}({', '.join(parts)})"
    return f"(-{parts[0]})" if value.function == "neg" else f"({f' {value.function} '.join(parts)})"
