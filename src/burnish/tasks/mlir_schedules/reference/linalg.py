"""linalg.generic and linalg.softmax in NumPy, on whole arrays."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnish.tasks.mlir_schedules.reference.bodies import Array, Known, value_of
from burnish.tasks.mlir_schedules.reference.views import contract, extents_of, view

COMBINED: Mapping[str, Any] = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.maxnumf": np.fmax,
    "arith.maxsi": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.minnumf": np.fmin,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
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
