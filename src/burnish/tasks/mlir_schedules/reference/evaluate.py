"""Reference interpreter: the operations of a program one by one, in NumPy in double precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import ProgramError
from burnish.tasks.mlir_schedules.bindings import bindings, parse, run_passes
from burnish.tasks.mlir_schedules.reference.bodies import (
    CONVERSIONS,
    FUNCTIONS,
    Array,
    Known,
    compute,
    dtype_of,
    value_of,
)
from burnish.tasks.mlir_schedules.reference.linalg import generic, softmax

GENERALIZE = "func.func(linalg-generalize-named-ops)"


@dataclass(frozen=True)
class TensorType:
    """The type of an argument or of a result."""

    shape: tuple[int, ...]
    dtype: str  # as MLIR writes it: "f32"


@dataclass(frozen=True)
class FunctionType:
    """The name and the types of a program's function."""

    name: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]


def signature(text: str) -> FunctionType:
    """Return the name and the types of a program's function.

    Raises:
        ProgramError: the text cannot be parsed, or is not a program.
        MissingTool: MLIR is not installed.
    """
    _module, function = program_function(text)
    kind = function.type
    name = function.attributes["sym_name"].value
    return FunctionType(name, tuple(map(tensor_type, kind.inputs)), tuple(map(tensor_type, kind.results)))


def evaluate(text: str, inputs: Sequence[NDArray[Any]]) -> list[NDArray[np.float64]]:
    """Return a program's outputs for inputs in the order of its arguments.

    Raises:
        ProgramError: the text cannot be parsed or has an unknown operation, or the inputs do not fit.
        MissingTool: MLIR is not installed.
    """
    _module, function = program_function(text, GENERALIZE)
    block = function.regions[0].blocks[0]
    shapes = [tensor_type(argument.type).shape for argument in block.arguments]
    if shapes != [array.shape for array in inputs]:
        raise ProgramError(f"inputs of the shapes {[array.shape for array in inputs]}; expected {shapes}")
    known: Known = {}
    for argument, array in zip(block.arguments, inputs, strict=True):
        known[argument] = np.asarray(array, dtype=dtype_of(argument.type.element_type))
    with np.errstate(all="ignore"):
        for op in list(block.operations)[:-1]:
            for result, value in zip(op.operation.results, _results(op.operation, known), strict=True):
                known[result] = value
    returned = list(block.operations)[-1].operation.operands
    return [np.array(known[value], dtype=np.float64) for value in returned]


def program_function(text: str, pipeline: str = "") -> tuple[Any, Any]:
    """Parse a program and return its module and its only function with a body; keep the module alive.

    Raises:
        ProgramError: the text cannot be parsed, or is not a program.
        MissingTool: MLIR is not installed.
    """
    module = parse(text)
    if pipeline:
        run_passes(module, pipeline)
    functions = [
        op.operation
        for op in module.body.operations
        if op.operation.name == "func.func" and len(op.operation.regions[0].blocks)
    ]
    if len(functions) != 1 or len(functions[0].regions[0].blocks) != 1:
        raise ProgramError(f"{len(functions)} functions with a body; expected one, of one block")
    return module, functions[0].opview


def tensor_type(kind: Any) -> TensorType:
    """Return the type of a tensor of floats.

    Raises:
        ProgramError: the type is not a tensor, or its extents are not static.
    """
    if not isinstance(kind, bindings("ir").RankedTensorType) or not kind.has_static_shape:
        raise ProgramError(f"a function takes or returns {kind}; expected tensors of static shapes")
    return TensorType(tuple(kind.shape), str(kind.element_type))


def _results(op: Any, known: Known) -> list[Array]:
    if op.name in OPERATIONS:
        return OPERATIONS[op.name](op, known)
    if op.name in FUNCTIONS or op.name in CONVERSIONS or op.name.startswith(("arith.c", "math.c")):
        return [compute(op, [known[operand] for operand in op.operands])]
    raise ProgramError(
        f"{op.name} in '{str(op).strip().splitlines()[0][:120]}' is not supported; expected "
        f"operations of linalg, arith and math, or {', '.join(sorted(OPERATIONS))}"
    )


def _empty(op: Any, known: Known) -> list[Array]:
    kind = op.results[0].type
    dtype = dtype_of(kind.element_type)
    return [np.full(kind.shape, np.nan if dtype == np.float64 else 0, dtype=dtype)]


def _pad(op: Any, known: Known) -> list[Array]:
    array, shape = known[op.operands[0]], op.results[0].type.shape
    low = _numbers(op, "static_low", known, 1)
    block = op.regions[0].blocks[0]
    grid = np.meshgrid(*map(np.arange, shape), indexing="ij", sparse=True)
    own: Known = {**known, **dict(zip(block.arguments, grid, strict=True))}
    (filling,) = list(block.operations)[-1].operation.operands
    padded = np.broadcast_to(value_of(filling, own, []), shape).astype(array.dtype)
    inside = tuple(slice(start, start + extent) for start, extent in zip(low, array.shape, strict=True))
    padded[inside] = array
    return [padded]


def _reshape(op: Any, known: Known) -> list[Array]:
    return [known[op.operands[0]].reshape(op.results[0].type.shape)]


def _extract(op: Any, known: Known) -> list[Array]:
    array = known[op.operands[0]][_slices(op, known, 1)]
    return [array.reshape(op.results[0].type.shape)]


def _insert(op: Any, known: Known) -> list[Array]:
    result = known[op.operands[1]].copy()
    place = result[_slices(op, known, 2)]
    place[...] = known[op.operands[0]].reshape(place.shape)
    return [result]


def _concat(op: Any, known: Known) -> list[Array]:
    return [np.concatenate([known[operand] for operand in op.operands], axis=int(op.attributes["dim"]))]


def _splat(op: Any, known: Known) -> list[Array]:
    return [np.full(op.results[0].type.shape, known[op.operands[0]])]


def _element(op: Any, known: Known) -> list[Array]:
    array, *indices = (known[operand] for operand in op.operands)
    return [np.asarray(array[tuple(map(int, indices))])]


def _slices(op: Any, known: Known, first: int) -> tuple[slice, ...]:
    """Return the place of a slice; `first` is the number of its first dynamic operand."""
    groups = []
    for name in ("static_offsets", "static_sizes", "static_strides"):
        groups.append(_numbers(op, name, known, first))
        first += sum(number < -(1 << 62) for number in op.attributes[name])
    return tuple(
        slice(start, start + (count - 1) * step + 1 if count else start, step)
        for start, count, step in zip(*groups, strict=True)
    )


def _numbers(op: Any, name: str, known: Known, first: int) -> list[int]:
    """Return the numbers of an attribute; dynamic ones are read from the operands, from `first` on."""
    dynamic = iter(list(op.operands)[first:])
    return [number if number >= -(1 << 62) else int(known[next(dynamic)]) for number in op.attributes[name]]


OPERATIONS: Mapping[str, Callable[[Any, Known], list[Array]]] = {
    "linalg.generic": generic,
    "linalg.softmax": softmax,
    "tensor.cast": _reshape,
    "tensor.collapse_shape": _reshape,
    "tensor.concat": _concat,
    "tensor.empty": _empty,
    "tensor.expand_shape": _reshape,
    "tensor.extract": _element,
    "tensor.extract_slice": _extract,
    "tensor.insert_slice": _insert,
    "tensor.pad": _pad,
    "tensor.splat": _splat,
}
"""Operations on tensors; linalg's named ops are generalized to linalg.generic before."""
