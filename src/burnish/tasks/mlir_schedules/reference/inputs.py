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

DTYPES: Mapping[str, type[np.floating[Any]]] = {"f32": np.float32, "f64": np.float64}
SMALLEST, LARGEST = 0.5, 1.5  # magnitudes
POSITIVE = frozenset(("math.sqrt", "math.rsqrt", "math.log", "math.log2", "math.log10", "math.log1p"))
"""Functions that are not defined for negative arguments."""

MOVES = frozenset(
    f"tensor.{name}" for name in ("cast", "collapse_shape", "expand_shape", "extract_slice", "pad")
)


@dataclass(frozen=True)
class Role:
    """A program's use of an argument, as far as it limits the argument's values."""

    positive: bool = False
    terms: int = 1  # of the sums of products in which it is a factor


def inputs_of(text: str) -> list[NDArray[Any]]:
    """Return inputs in the order of a program's arguments, seeded by its text, at multiples of 64 bytes.

    Values have magnitudes from 0.5 to 1.5 and either sign. Arguments of a root or a logarithm, such as a
    variance, are positive. Arguments after the first that are factors in sums of products, such as weights,
    are divided by the root of the number of terms. So values do not grow from layer to layer.

    Raises:
        ProgramError: the text cannot be parsed, is not a program, or takes elements that are not floats.
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
        signs = 1 if role.positive else rng.choice([-1, 1], shape)
        array = aligned(shape, DTYPES[name], place)
        array[...] = rng.uniform(SMALLEST, LARGEST, shape) * signs / (role.terms**0.5 if place else 1)
        found.append(array)
    return found


def role_of(value: Any) -> Role:
    """Return the role of a tensor, which includes the roles of tensors that are made of it alone."""
    roles = [_by(use.owner, use.operand_number) for use in value.uses]
    return Role(any(role.positive for role in roles), max((role.terms for role in roles), default=1))


def _by(op: Any, place: int) -> Role:
    if op.name in MOVES and place == 0:
        return role_of(op.results[0])
    if op.name != "linalg.generic" or place >= len(op.regions[0].blocks[0].arguments):
        return Role()
    domain = domain_of(op)
    inside = list(_made_of(domain.arguments[place]))
    if any(use.owner.name in POSITIVE for one in inside for use in one.uses):
        return Role(positive=True)
    if domain.reduced and place < domain.inputs:
        multiplied = any(use.owner.name == "arith.mulf" for one in inside for use in one.uses)
        return Role(terms=domain.terms if multiplied else 1)
    alone = len(domain.yielded) == 1 and domain.yielded[0] in inside
    return role_of(op.results[0]) if alone else Role()


def _made_of(element: Any) -> Iterator[Any]:
    """Yield an argument of a body, and the values that are made of it and constants only."""
    yield element
    for use in element.uses:
        others = [operand for operand in use.owner.operands if operand != element]
        if use.owner.results and all(_is_constant(other) for other in others):
            yield from _made_of(use.owner.results[0])


def _is_constant(value: Any) -> bool:
    return getattr(value.owner, "name", "") in ("arith.constant", "arith.truncf", "arith.extf")
