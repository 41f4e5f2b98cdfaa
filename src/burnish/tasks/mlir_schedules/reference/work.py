"""The arithmetic operations of a program, and the rounding error that its results may have."""

from __future__ import annotations

import math
from typing import Any

from burnish.tasks.mlir_schedules.reference.evaluate import GENERALIZE, program_function
from burnish.tasks.mlir_schedules.reference.linalg import domain_of

SOFTMAX_OPERATIONS = 5  # for each element: maximum, difference, power, sum, quotient
FREE = frozenset(
    f"arith.{name}"
    for name in (
        "andi constant extf extsi extui fptosi fptoui index_cast index_castui ori select sitofp truncf "
        "trunci uitofp xori"
    ).split()
)
"""Operations of bodies that are not arithmetic."""

EPSILONS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
MARGIN = 4  # times the expected error of random roundings
PLAIN = 1.0  # rounding error of an arith operation, in units of epsilon
APPROXIMATED = 8.0  # the same of a math operation, which may be a polynomial


def flops(text: str) -> int:
    """Return the number of arithmetic operations of a program: those of bodies, at each point.

    A comparison counts as one; conversions and selections do not count.

    Raises:
        ProgramError: the text cannot be parsed, or is not a program.
        MissingTool: MLIR is not installed.
    """
    _module, function = program_function(text, GENERALIZE)
    return sum(_operations(op.operation) for op in function.regions[0].blocks[0].operations)


def tolerance(text: str, dtype: str = "f32") -> float:
    """Return the allowed error of a result, relative to 1 + its largest value.

    It adds up the roundings of the operations that lead to the result. A sum of n terms, in any order, adds
    about the root of n. Whole numbers have no error.

    Raises:
        ProgramError: the text cannot be parsed, or is not a program.
        MissingTool: MLIR is not installed.
    """
    _module, function = program_function(text, GENERALIZE)
    roundings: dict[Any, float] = {}
    most = 0.0
    for op in function.regions[0].blocks[0].operations:
        before = max((roundings.get(value, 0.0) for value in op.operation.operands), default=0.0)
        after = before + _roundings(op.operation)
        roundings.update((result, after) for result in op.operation.results)
        most = max(most, after)
    return MARGIN * EPSILONS.get(dtype, 0.0) * max(1.0, most)


def _operations(op: Any) -> int:
    if op.name == "linalg.softmax":
        return SOFTMAX_OPERATIONS * math.prod(map(int, op.results[0].type.shape))
    if op.name != "linalg.generic":
        return 0
    names = _names(op)
    counted = [name for name in names if name.startswith(("arith.", "math.")) and name not in FREE]
    return len(counted) * domain_of(op).points


def _roundings(op: Any) -> float:
    if op.name == "linalg.softmax":
        row = int(op.results[0].type.shape[int(op.attributes["dimension"])])
        return math.sqrt(row) + 2 * APPROXIMATED
    if op.name != "linalg.generic":
        return 0.0
    names = _names(op)
    plain = sum(name.startswith("arith.") and name not in FREE for name in names)
    approximated = sum(name.startswith("math.") for name in names)
    return PLAIN * plain * math.sqrt(domain_of(op).terms) + APPROXIMATED * approximated


def _names(op: Any) -> list[str]:
    return [inner.operation.name for inner in op.regions[0].blocks[0].operations]
