"""The meaning of a nest: its statements, evaluated by NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from burnish.core.errors import ProgramError
from burnish.tasks.loop_nests.nest import Access, Call, Expression, Nest, Statement
from burnish.tasks.tensors.arrays import Array


def evaluate(nest: Nest, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return the tensors that the statements write, computed by NumPy in the precision of the inputs.

    Raises:
        ProgramError: an input is missing, or has another shape.
    """
    known: dict[str, Array] = {}
    for name in nest.inputs:
        if name not in inputs or inputs[name].shape != nest.shapes[name]:
            found = f"has the shape {inputs[name].shape}" if name in inputs else "is missing"
            raise ProgramError(f"{name} {found}; expected {nest.shapes[name]}")
        known[name] = np.ascontiguousarray(inputs[name])
    for one in nest.statements:
        known[one.target.tensor] = _evaluate(nest, one, known)
    return {name: known[name] for name in nest.written}


def _evaluate(nest: Nest, statement: Statement, known: Mapping[str, Array]) -> Array:
    letters = {name: chr(ord("a") + i) for i, name in enumerate(statement.iterators)}
    factors = factors_of(statement.value)
    named = {name for factor in factors for name in factor.iterators}
    if factors and statement.reduce == "+" and named == set(statement.iterators):  # a contraction
        views = [_view(nest, factor, factor.iterators, known[factor.tensor]) for factor in factors]
        texts = ["".join(letters[name] for name in factor.iterators) for factor in factors]
        contracted: Array = np.einsum(
            f"{','.join(texts)}->{''.join(letters[name] for name in statement.free)}", *views, optimize=True
        )
        return contracted
    value = np.asarray(_value(nest, statement.value, statement.iterators, known))
    value = np.broadcast_to(value, [nest.extents[name] for name in statement.iterators])
    if not statement.reduce:
        return np.ascontiguousarray(value)
    over = tuple(range(len(statement.free), len(statement.iterators)))
    return np.asarray(_REDUCE[statement.reduce](value, axis=over))


def _value(nest: Nest, value: Expression, order: Sequence[str], known: Mapping[str, Array]) -> Any:
    """Return an expression's values, with an axis for each iterator of `order`, or an array to broadcast."""
    match value:
        case Access():
            return _view(nest, value, order, known[value.tensor])
        case Call(function, arguments):
            parts = [_value(nest, argument, order, known) for argument in arguments]
            return _NUMPY[function](*parts)
    return value


_REDUCE: Mapping[str, Any] = {"+": np.sum, "*": np.prod, "max": np.max, "min": np.min}
_NUMPY: Mapping[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "neg": np.negative,
    "max": np.maximum,
    "min": np.minimum,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "tanh": np.tanh,
}


def _view(nest: Nest, access: Access, order: Sequence[str], array: Array) -> Array:
    """Return an access as an array: an axis for each iterator, of extent 1 if the access does not use it."""
    steps = nest.strides(access)
    shape = [nest.extents[name] if steps.get(name) else 1 for name in order]
    strides = [steps.get(name, 0) * array.itemsize for name in order]
    flat = array.reshape(-1)[nest.offset(access) :]
    return np.lib.stride_tricks.as_strided(flat, shape, strides, writeable=False)


def factors_of(value: Expression) -> tuple[Access, ...]:
    """Return the accesses whose product a value is; () if it is not such a product."""
    match value:
        case Access():
            return (value,)
        case Call("*", (one, other)) if (first := factors_of(one)) and (second := factors_of(other)):
            return first + second
    return ()
