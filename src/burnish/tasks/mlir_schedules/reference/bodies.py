"""Scalar operations of bodies, on whole NumPy arrays in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import ProgramError
from burnish.tasks.mlir_schedules.bindings import bindings

Array = NDArray[Any]
Known = MutableMapping[Any, Array]
"""The arrays of MLIR's values."""


def dtype_of(element: Any) -> type[np.generic]:
    """Return the NumPy type for an element type of MLIR: floats are double, integers have 64 bits."""
    name = str(element)
    if name == "i1":
        return np.bool_
    if name == "index" or name.startswith(("i", "si", "ui")):
        return np.int64
    if name.startswith(("f", "bf")):
        return np.float64
    raise ProgramError(f"elements of the type {name} are not supported; expected floats, integers or index")


def compute(op: Any, arguments: list[Array]) -> Array:
    """Return the only result of an operation of arith or math.

    Raises:
        ProgramError: the operation is not known.
    """
    name = str(op.name)
    if name == "arith.constant":
        return constant(op)
    if name in ("arith.cmpf", "arith.cmpi"):
        table = _FLOAT_PREDICATES if name == "arith.cmpf" else _INTEGER_PREDICATES
        predicate = int(op.attributes["predicate"])
        if predicate < len(table):
            return np.asarray(table[predicate](*arguments))
    if name in CONVERSIONS:
        (value,) = arguments
        if value.dtype == np.bool_ and name in ("arith.extsi", "arith.sitofp"):
            value = -value.astype(np.int64)  # the one bit of a signed i1 is its sign
        return value.astype(dtype_of(_element(op.results[0].type)))
    if name in FUNCTIONS:
        return np.asarray(FUNCTIONS[name](*arguments))
    raise ProgramError(
        f"{name} in '{str(op).strip().splitlines()[0]}' is not supported; expected "
        f"{', '.join(sorted((*FUNCTIONS, *CONVERSIONS, 'arith.cmpf', 'arith.cmpi')))}"
    )


def constant(op: Any) -> Array:
    """Return the value of arith.constant: a scalar, or a dense tensor.

    Raises:
        ProgramError: the text does not contain its elements.
    """
    ir = bindings("ir")
    attribute = op.attributes["value"]
    kind = op.results[0].type
    dtype = dtype_of(_element(kind))
    if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
        return np.asarray(attribute.value, dtype=dtype)
    if isinstance(attribute, ir.DenseElementsAttr):
        if attribute.is_splat:
            value = attribute.get_splat_value()
            return np.full(kind.shape, getattr(value, "value", value), dtype=dtype)
        return np.array(list(attribute), dtype=dtype).reshape(kind.shape)
    raise ProgramError(
        f"'{str(op)[:80]}' has no elements in the program's text; expected dense<...> or an argument"
    )


def value_of(value: Any, known: Known, indices: list[Array]) -> Array:
    """Return a value in the body of an operation; its operands are computed first.

    indices: for each loop, the array that linalg.index returns.

    Raises:
        ProgramError: an operation on the way is not known.
    """
    if value in known:
        return known[value]
    op = value.owner
    if op.name == "linalg.index":
        found = indices[int(op.attributes["dim"])]
    else:
        arguments = [value_of(operand, known, indices) for operand in op.operands]
        gathers = op.name == "tensor.extract"
        found = arguments[0][tuple(arguments[1:])] if gathers else compute(op, arguments)
    known[value] = found
    return found


def _element(kind: Any) -> Any:
    return getattr(kind, "element_type", kind)


def _ordered(one: Array, other: Array) -> Array:
    ordered: Array = ~(np.isnan(one) | np.isnan(other))
    return ordered


def _divided(one: Array, other: Array) -> Array:
    quotient = np.abs(one) // np.abs(other)
    signed: Array = np.sign(one) * np.sign(other) * quotient
    return signed


def _rounded(value: Array) -> Array:
    return np.copysign(np.floor(np.abs(value) + 0.5), value)


def _by_element(function: Callable[[float], float]) -> Callable[[Array], Array]:
    def of_array(value: Array) -> Array:
        flat = np.asarray(value, dtype=np.float64)
        return np.fromiter(map(function, flat.ravel().tolist()), np.float64, flat.size).reshape(flat.shape)

    return of_array


_FLOAT_PREDICATES: tuple[Callable[[Array, Array], Array], ...] = (
    lambda a, b: np.zeros(np.broadcast(a, b).shape, dtype=np.bool_),
    lambda a, b: a == b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: (a < b) | (a > b),
    _ordered,
    lambda a, b: ~((a < b) | (a > b)),
    lambda a, b: ~(a <= b),
    lambda a, b: ~(a < b),
    lambda a, b: ~(a >= b),
    lambda a, b: ~(a > b),
    lambda a, b: a != b,
    lambda a, b: ~_ordered(a, b),
    lambda a, b: np.ones(np.broadcast(a, b).shape, dtype=np.bool_),
)
_INTEGER_PREDICATES: tuple[Callable[[Array, Array], Array], ...] = (
    *(np.equal, np.not_equal),
    *(np.less, np.less_equal, np.greater, np.greater_equal),
)
CONVERSIONS = frozenset(
    f"arith.{name}"
    for name in "extf truncf sitofp uitofp fptosi fptoui extsi extui trunci index_cast index_castui".split()
)
_SAME_NAME = (
    "ceil cos cbrt exp exp2 expm1 floor log log10 log1p log2 sin sqrt tanh trunc".split()
)  # as NumPy's
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("arith.addf", "arith.addi"), np.add),
    **dict.fromkeys(("arith.subf", "arith.subi"), np.subtract),
    **dict.fromkeys(("arith.mulf", "arith.muli"), np.multiply),
    **dict.fromkeys(("arith.maximumf", "arith.maxsi"), np.maximum),
    **dict.fromkeys(("arith.minimumf", "arith.minsi"), np.minimum),
    **dict.fromkeys(("arith.remf", "arith.remsi"), np.fmod),
    **dict.fromkeys(("math.absf", "math.absi"), np.abs),
    **dict.fromkeys(("math.powf", "math.fpowi"), np.power),
    **{f"math.{name}": getattr(np, name) for name in _SAME_NAME},
    "arith.divf": np.divide,
    "arith.negf": np.negative,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.select": np.where,
    "arith.divsi": _divided,
    "arith.floordivsi": np.floor_divide,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "math.erf": _by_element(math.erf),
    "math.erfc": _by_element(math.erfc),
    "math.fma": lambda a, b, c: a * b + c,
    "math.round": _rounded,
    "math.roundeven": np.rint,
    "math.rsqrt": lambda a: 1 / np.sqrt(a),
}
