"""Operands of linalg.generic as views over its whole iteration domain, without copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from burnish.core.errors import ProgramError
from burnish.tasks.mlir_schedules.bindings import bindings
from burnish.tasks.mlir_schedules.reference.bodies import Array


def extents_of(maps: Sequence[Any], shapes: Sequence[Sequence[int]]) -> list[int]:
    """Return the extent of each loop: that of a dimension that the loop alone indexes.

    Raises:
        ProgramError: no operand gives the extent of a loop.
    """
    ir = bindings("ir")
    found: dict[int, int] = {}
    for indexing, shape in zip(maps, shapes, strict=True):
        for expression, extent in zip(indexing.results, shape, strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                found.setdefault(expression.position, extent)
    count = maps[0].n_dims
    if missing := set(range(count)) - set(found):
        raise ProgramError(f"no operand has the extents of the loops {sorted(missing)}")
    return [found[loop] for loop in range(count)]


def view(array: Array, indexing: Any, extents: Sequence[int], writeable: bool = False) -> Array:
    """Return an array's elements for all values of the loops; loops that it does not depend on have extent 1.

    A map that is not linear gives a copy.

    Raises:
        ProgramError: the map leaves the array, or is not linear and `writeable` is set.
    """
    linear = [_linear(expression, len(extents)) for expression in indexing.results]
    steps, start = [0] * len(extents), []
    for found, extent, stride in zip(linear, array.shape, array.strides, strict=True):
        if found is None:
            if writeable:
                raise ProgramError(
                    f"the indexing map of an output is {indexing}; expected a permutation of loops"
                )
            return array[_indices(indexing, extents)]
        factors, constant = found
        ends = [factor * (count - 1) for factor, count in zip(factors, extents, strict=True)]
        if constant + sum(min(0, end) for end in ends) < 0 or constant + sum(map(_positive, ends)) >= extent:
            raise ProgramError(f"{indexing} exceeds the bounds of an array of the shape {array.shape}")
        steps = [step + factor * stride for step, factor in zip(steps, factors, strict=True)]
        start.append(constant)
    shape = [count if step else 1 for count, step in zip(extents, steps, strict=True)]
    first: tuple[Any, ...] = (*start, ...)  # with the ellipsis, NumPy returns an array, never a scalar
    return np.lib.stride_tricks.as_strided(array[first], shape, steps, writeable=writeable)


def contract(one: Array, other: Array, extents: Sequence[int], reduced: Sequence[int]) -> Array:
    """Return the sum over `reduced` loops of the product of two arrays; unused loops have extent 1."""
    scale = 1
    for loop in reduced:
        counts = one.shape[loop] > 1, other.shape[loop] > 1
        if counts == (True, False):
            one = one.sum(axis=loop, keepdims=True)
        elif counts == (False, True):
            other = other.sum(axis=loop, keepdims=True)
        elif counts == (False, False):
            scale *= extents[loop]
    loops = range(len(extents))
    inside = [loop for loop in loops if one.shape[loop] > 1 and other.shape[loop] > 1]
    batch = [loop for loop in inside if loop not in reduced]
    summed = [loop for loop in inside if loop in reduced]
    rows = [loop for loop in loops if one.shape[loop] > 1 and other.shape[loop] == 1]
    columns = [loop for loop in loops if one.shape[loop] == 1 and other.shape[loop] > 1]
    product = _matrices(one, batch, rows, summed) @ _matrices(other, batch, summed, columns)
    order = [*batch, *rows, *columns]
    outer = product.reshape([extents[loop] for loop in order]).transpose(np.argsort(order))
    return scale * outer.reshape([extents[loop] if loop in order else 1 for loop in loops])


def _matrices(array: Array, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]) -> Array:
    order = [*batch, *rows, *columns]
    rest = [loop for loop in range(array.ndim) if loop not in order]
    sizes = [math.prod(array.shape[loop] for loop in group) for group in (batch, rows, columns)]
    return array.transpose(*order, *rest).reshape(sizes)


def _positive(value: int) -> int:
    return max(0, value)


def _linear(expression: Any, count: int) -> tuple[list[int], int] | None:
    """Return each loop's factor and the constant of an affine expression; None if it has divisions."""
    ir = bindings("ir")
    if isinstance(expression, ir.AffineDimExpr):
        return [int(loop == expression.position) for loop in range(count)], 0
    if isinstance(expression, ir.AffineConstantExpr):
        return [0] * count, expression.value
    if not isinstance(expression, ir.AffineAddExpr | ir.AffineMulExpr):
        return None
    one, other = _linear(expression.lhs, count), _linear(expression.rhs, count)
    if one is None or other is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        return [a + b for a, b in zip(one[0], other[0], strict=True)], one[1] + other[1]
    if any(other[0]):
        one, other = other, one
    return [a * other[1] for a in one[0]], one[1] * other[1]


def _indices(indexing: Any, extents: Sequence[int]) -> tuple[Array, ...]:
    loops = [
        np.arange(extent).reshape([-1 if loop == at else 1 for loop in range(len(extents))])
        for at, extent in enumerate(extents)
    ]
    return tuple(np.asarray(_index(expression, loops)) for expression in indexing.results)


def _index(expression: Any, loops: Sequence[Array]) -> Any:
    ir = bindings("ir")
    if isinstance(expression, ir.AffineDimExpr):
        return loops[expression.position]
    if isinstance(expression, ir.AffineConstantExpr):
        return np.full([1] * len(loops), expression.value)
    one, other = _index(expression.lhs, loops), _index(expression.rhs, loops)
    if isinstance(expression, ir.AffineAddExpr):
        return one + other
    if isinstance(expression, ir.AffineMulExpr):
        return one * other
    if isinstance(expression, ir.AffineModExpr):
        return one % other
    if isinstance(expression, ir.AffineFloorDivExpr):
        return one // other
    return -(-one // other)
