"""linalg.generic and linalg.softmax in NumPy, on whole arrays: operands are views over all loops."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnish.core.errors import ProgramError
from burnish.tasks.mlir_schedules.bindings import bindings
from burnish.tasks.mlir_schedules.reference.bodies import FUNCTIONS, Array, Known, value_of

COMBINED: Mapping[str, Any] = {
    f"arith.{name}": FUNCTIONS[f"arith.{name}"]
    for name in "addf addi mulf muli maximumf maxnumf maxsi minimumf minnumf minsi andi ori".split()
}
"""Operations that combine the terms of a reduction."""


@dataclass(frozen=True)
class Domain:
    """The loops and the body of a linalg.generic."""

    maps: tuple[Any, ...]  # indexing maps of the inputs, then of the outputs
    extents: tuple[int, ...]
    reduced: tuple[int, ...]  # loops
    inputs: int
    arguments: tuple[Any, ...]  # of the body
    yielded: tuple[Any, ...]  # results of the body, one for each output

    @property
    def points(self) -> int:
        """The number of times that the body is computed."""
        return math.prod(self.extents)

    @property
    def terms(self) -> int:
        """The number of points that make one element of an output."""
        return math.prod(self.extents[loop] for loop in self.reduced)


def domain_of(op: Any) -> Domain:
    """Return the loops and the body of a linalg.generic.

    Raises:
        ProgramError: no operand gives the extent of a loop.
    """
    maps = tuple(attribute.value for attribute in op.attributes["indexing_maps"])
    kinds = [str(kind) for kind in op.attributes["iterator_types"]]
    block = op.regions[0].blocks[0]
    shapes = [getattr(operand.type, "shape", ()) for operand in op.operands]
    return Domain(
        maps,
        tuple(extents_of(maps, shapes)),
        tuple(loop for loop, kind in enumerate(kinds) if "reduction" in kind),
        op.attributes["operandSegmentSizes"][0],
        tuple(block.arguments),
        tuple(list(block.operations)[-1].operation.operands),
    )


def generic(op: Any, known: Known) -> list[Array]:
    """Return the results of a linalg.generic.

    Raises:
        ProgramError: its body has an unknown operation.
    """
    domain = domain_of(op)
    operands = [known[operand] for operand in op.operands]
    results = [operand.copy() for operand in operands[domain.inputs :]]
    views = [
        view(array, indexing, domain.extents) for array, indexing in zip(operands, domain.maps, strict=True)
    ]
    values = _at_once(domain, views, known)
    if values is None:
        values = _in_turn(domain, views, known)
    for result, indexing, value in zip(results, domain.maps[domain.inputs :], values, strict=True):
        view(result, indexing, domain.extents, writeable=True)[...] = value
    return results


def softmax(op: Any, known: Known) -> list[Array]:
    """Return the result of a linalg.softmax."""
    axis = int(op.attributes["dimension"])
    array = known[op.operands[0]]
    powers = np.exp(array - array.max(axis=axis, keepdims=True))
    return [powers / powers.sum(axis=axis, keepdims=True)]


def combination(yielded: Any, output: Any) -> tuple[str, Any] | None:
    """Return the operation and the term that an output is combined with; None for another form of body."""
    op = yielded.owner
    if getattr(op, "name", None) not in COMBINED or len(list(output.uses)) != 1:
        return None
    one, other = op.operands
    if output not in (one, other):
        return None
    return op.name, other if output == one else one


def _at_once(domain: Domain, views: Sequence[Array], known: Known) -> list[Array] | None:
    """Return the outputs' new values, with extent 1 in reduced loops; None if terms must be in order."""
    own: Known = ChainMap({}, known)
    own.update(zip(domain.arguments, views, strict=True))
    indices = _indices(domain, ())
    if not domain.reduced:
        return [value_of(value, own, indices) for value in domain.yielded]
    values = []
    for value, output in zip(domain.yielded, domain.arguments[domain.inputs :], strict=True):
        found = combination(value, output)
        if found is None:
            return None
        name, term = found
        total = _reduced(domain, name, term, lambda part: value_of(part, own, indices))
        values.append(COMBINED[name](own[output], total))
    return values


def _reduced(domain: Domain, name: str, term: Any, evaluated: Callable[[Any], Array]) -> Array:
    op = term.owner
    if name == "arith.addf" and getattr(op, "name", None) == "arith.mulf":
        one, other = (_of_rank(evaluated(part), len(domain.extents)) for part in op.operands)
        return contract(one, other, domain.extents, domain.reduced)
    value = _of_rank(evaluated(term), len(domain.extents))
    shape = [
        extent if loop in domain.reduced else value.shape[loop] for loop, extent in enumerate(domain.extents)
    ]
    return np.asarray(
        COMBINED[name].reduce(np.broadcast_to(value, shape), axis=domain.reduced, keepdims=True)
    )


def _in_turn(domain: Domain, views: Sequence[Array], known: Known) -> list[Array]:
    """Return the outputs' new values; the body is computed for one point of the reduced loops at a time."""
    parallel = [1 if loop in domain.reduced else extent for loop, extent in enumerate(domain.extents)]
    states = [np.broadcast_to(array, parallel) for array in views[domain.inputs :]]
    for point in np.ndindex(*(domain.extents[loop] for loop in domain.reduced)):
        own: Known = ChainMap({}, known)
        inputs = [_at(array, domain.reduced, point) for array in views[: domain.inputs]]
        own.update(zip(domain.arguments, [*inputs, *states], strict=True))
        indices = _indices(domain, point)
        states = [np.broadcast_to(value_of(value, own, indices), parallel) for value in domain.yielded]
    return list(states)


def _at(array: Array, loops: Sequence[int], point: Sequence[int]) -> Array:
    for loop, index in zip(loops, point, strict=True):
        if array.shape[loop] > 1:
            array = array.take([index], axis=loop)
    return array


def _indices(domain: Domain, point: Sequence[int]) -> list[Array]:
    """Return each loop's values as an array along it; reduced loops have one value if `point` is given."""
    fixed = dict(zip(domain.reduced, point, strict=False))
    rank = len(domain.extents)
    values = [
        np.arange(extent) if loop not in fixed else np.array([fixed[loop]])
        for loop, extent in enumerate(domain.extents)
    ]
    return [
        value.reshape([-1 if loop == at else 1 for loop in range(rank)]) for at, value in enumerate(values)
    ]


def _of_rank(array: Array, rank: int) -> Array:
    return array.reshape([1] * rank) if array.ndim < rank else array


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
            return array[_elements(indexing, extents)]
        factors, constant = found
        ends = [factor * (count - 1) for factor, count in zip(factors, extents, strict=True)]
        least, most = (constant + sum(bound(0, end) for end in ends) for bound in (min, max))
        if least < 0 or most >= extent:
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


def _elements(indexing: Any, extents: Sequence[int]) -> tuple[Array, ...]:
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
