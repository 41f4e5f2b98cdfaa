"""Random inputs for a program; equal texts have equal inputs."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import ProgramError
from burnish.tasks.mlir_schedules.reference.evaluate import GENERALIZE, program_function
from burnish.tasks.mlir_schedules.reference.linalg import domain_of
from burnish.tasks.tensors.arrays import aligned

DTYPES: Mapping[str, type[np.number[Any]]] = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i64": np.int64,
}
SMALLEST, LARGEST = 0.5, 1.5  # magnitudes
BELOW = 2  # whole numbers that index nothing are 0 and 1, as in a mask
POSITIVE = frozenset(("math.sqrt", "math.rsqrt", "math.log", "math.log2", "math.log10", "math.log1p"))
"""Functions that are not defined for negative arguments."""

INDICES = frozenset(
    f"arith.{name}" for name in ("extsi", "extui", "index_cast", "index_castui", "select", "trunci")
)
"""Operations that give an index which one of their operands is."""

MOVES = frozenset(
    f"tensor.{name}" for name in ("cast", "collapse_shape", "expand_shape", "extract_slice", "pad")
)


@dataclass(frozen=True)
class Role:
    """A program's use of an argument, as far as it limits the argument's values."""

    positive: bool = False
    terms: int = 1  # of the sums of products in which it is a factor
    below: int | None = None  # its values are indices from 0 to the one before this; None: they index nothing


def inputs_of(text: str) -> list[NDArray[Any]]:
    """Return inputs in the order of a program's arguments, seeded by its text, at multiples of 64 bytes.

    Values have magnitudes from 0.5 to 1.5 and either sign. Arguments of a root or a logarithm, such as a
    variance, are positive. Arguments after the first that are factors in sums of products, such as weights,
    are divided by the root of the number of terms. So values do not grow from layer to layer. Whole numbers
    are indices of the tensor in which they are looked up, or 0 and 1.

    Raises:
        ProgramError: the text cannot be parsed, is not a program, or takes elements of another type.
        MissingTool: MLIR is not installed.
    """
    rng = np.random.default_rng(zlib.crc32(text.encode()))
    _module, function = program_function(text, GENERALIZE)
    found: list[NDArray[Any]] = []
    for place, argument in enumerate(function.regions[0].blocks[0].arguments):
        name, shape = str(argument.type.element_type), tuple(argument.type.shape)
        if name not in DTYPES:
            raise ProgramError(f"argument {place} has elements of {name}; expected {' or '.join(DTYPES)}")
        role = role_of(argument)
        array = aligned(shape, DTYPES[name], place)
        found.append(array)
        if name.startswith("i"):
            array[...] = rng.integers(role.below or BELOW, size=shape)
            continue
        signs = 1 if role.positive else rng.choice([-1, 1], shape)
        array[...] = rng.uniform(SMALLEST, LARGEST, shape) * signs / (role.terms**0.5 if place else 1)
    return found


def bounds_of(text: str) -> list[int | None]:
    """Return for each argument the number that its elements are below if they are indices, else None.

    Raises:
        ProgramError: the text cannot be parsed, or is not a program.
        MissingTool: MLIR is not installed.
    """
    _module, function = program_function(text, GENERALIZE)
    arguments = function.regions[0].blocks[0].arguments
    return [role_of(one).below if str(one.type.element_type)[0] == "i" else None for one in arguments]


def role_of(value: Any) -> Role:
    """Return the role of a tensor, which includes the roles of tensors that are made of it alone."""
    roles = [_by(use.owner, use.operand_number) for use in value.uses]
    return Role(
        any(role.positive for role in roles),
        max((role.terms for role in roles), default=1),
        min((role.below for role in roles if role.below is not None), default=None),
    )


def _by(op: Any, place: int) -> Role:
    if op.name in MOVES and place == 0:
        return role_of(op.results[0])
    if op.name != "linalg.generic" or place >= len(op.regions[0].blocks[0].arguments):
        return Role()
    domain = domain_of(op)
    if (below := _extent_of(domain.arguments[place])) is not None:
        return Role(below=below)
    inside = list(_made_of(domain.arguments[place]))
    if any(use.owner.name in POSITIVE for one in inside for use in one.uses):
        return Role(positive=True)
    if domain.reduced and place < domain.inputs:
        multiplied = any(use.owner.name == "arith.mulf" for one in inside for use in one.uses)
        return Role(terms=domain.terms if multiplied else 1)
    alone = len(domain.yielded) == 1 and domain.yielded[0] in inside
    return role_of(op.results[0]) if alone else Role()


def _extent_of(index: Any) -> int | None:
    """Return the least extent that a value of a body indexes; None if it indexes nothing."""
    extents = []
    for use in index.uses:
        if use.owner.name == "tensor.extract" and use.operand_number:
            extents.append(int(use.owner.operands[0].type.shape[use.operand_number - 1]))
        elif use.owner.name in INDICES and (inner := _extent_of(use.owner.results[0])) is not None:
            extents.append(inner)
    return min(extents, default=None)


def _made_of(element: Any) -> Iterator[Any]:
    """Yield an argument of a body, and the values that are made of it and constants only."""
    yield element
    for use in element.uses:
        others = [operand for operand in use.owner.operands if operand != element]
        if use.owner.results and all(_is_constant(other) for other in others):
            yield from _made_of(use.owner.results[0])


def _is_constant(value: Any) -> bool:
    return getattr(value.owner, "name", "") in ("arith.constant", "arith.truncf", "arith.extf")
