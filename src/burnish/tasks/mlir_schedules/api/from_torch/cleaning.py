"""Conversion of torch-mlir's export to the form of a program."""

from __future__ import annotations

import re
from typing import Any

from burnish.core.errors import InputError
from burnish.tasks.mlir_schedules.bindings import bindings

SIMPLER = "canonicalize,cse"
FLAT = "func.func(linalg-fold-unit-extent-dims),canonicalize,cse"
FUSED = "func.func(linalg-fuse-elementwise-ops),canonicalize"
ELEMENT = "f32"
DIALECTS = ("linalg.", "tensor.", "arith.", "math.", "func.")
RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")
WINDOW = re.compile(r"^linalg\.(depthwise_)?conv_|^linalg\.pooling_")
BARRIER = "import.barrier"


def cleaned(module: Any) -> str:
    """Return the text of an exported module as a program.

    Chains of elementwise operations become one operation each, unless a value would be computed more often.
    Axes of extent 1 are removed, except in modules with images: windows need all four axes, and the ops after
    them can be computed tile by tile only if they have the same axes.

    Raises:
        InputError: the result has an operation, a type or a constant that programs do not have.
    """
    ir = bindings("ir")
    with module.context as context, ir.Location.unknown():
        for operation in _operations(module):
            if operation.name == "cf.assert":
                operation.erase()
            elif operation.name == "arith.truncf":
                _round(operation)
        _run(module, SIMPLER)
        context.allow_unregistered_dialects = True
        _copy_masks(module)
        _put_barriers(module)
        _run(module, FUSED)
        for operation in _operations(module):
            if operation.name == BARRIER:
                operation.results[0].replace_all_uses_with(operation.operands[0])
                operation.erase()
        context.allow_unregistered_dialects = False
        _run(module, SIMPLER)
        if not any(WINDOW.search(operation.name) for operation in _operations(module)):
            _run(module, FLAT)
        for operation in _operations(module):
            _check(operation)
        return str(module)


def _run(module: Any, pipeline: str) -> None:
    bindings("passmanager").PassManager.parse(f"builtin.module({pipeline})").run(module.operation)


def _operations(module: Any) -> list[Any]:
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return bindings("ir").WalkResult.ADVANCE

    module.operation.walk(visit, bindings("ir").WalkOrder.PRE_ORDER)
    return found


def _round(operation: Any) -> None:
    """Round a constant to a smaller type; MLIR itself does so only if the value stays exact."""
    ir = bindings("ir")
    maker, kind = operation.operands[0].owner, operation.results[0].type
    if getattr(maker, "name", "") == "arith.constant" and not hasattr(kind, "shape"):
        value = ir.FloatAttr.get(kind, maker.attributes["value"].value)
        with ir.InsertionPoint(operation):
            rounded = ir.Operation.create("arith.constant", results=[kind], attributes={"value": value})
        operation.results[0].replace_all_uses_with(rounded.result)
        operation.erase()


def _copy_masks(module: Any) -> None:
    """Copy indices and masks for each use, so that they can be fused into each user."""
    for operation in reversed(_operations(module)):
        if operation.name.startswith(("linalg.", "tensor.")) and any(map(_is_mask, operation.results)):
            for use in list(operation.results[0].uses)[1:]:
                user, number = use.owner, use.operand_number
                user.operands[number] = operation.clone(bindings("ir").InsertionPoint(operation)).results[0]


def _put_barriers(module: Any) -> None:
    """Separate a value that is computed once from users that would compute it again for each use."""
    ir = bindings("ir")
    for operation in _operations(module):
        if not operation.name.startswith(("linalg.", "tensor.")) or operation.name.endswith(".yield"):
            continue
        for number, operand in enumerate(list(operation.operands)):
            if _is_apart(operation, number, operand):
                with ir.InsertionPoint(operation):
                    barrier = ir.Operation.create(BARRIER, results=[operand.type], operands=[operand])
                operation.operands[number] = barrier.result


def _is_apart(operation: Any, number: int, operand: Any) -> bool:
    """Return whether the producer of an operand must not be fused into an operation."""
    if not getattr(operand.owner, "name", "").startswith(("linalg.", *RESHAPES)) or _is_mask(operand):
        return False
    if operation.name != "linalg.generic" or operand.owner.name != "linalg.generic":
        return True
    indexing = operation.attributes["indexing_maps"][number].value
    return not indexing.is_permutation


def _is_mask(value: Any) -> bool:
    return hasattr(value.type, "shape") and str(value.type.element_type) != ELEMENT


def _check(operation: Any) -> None:
    """Refuse an operation that programs do not have.

    Raises:
        InputError: the operation, the type of one of its values, or its constant is not supported.
    """
    if operation.name != "builtin.module" and not operation.name.startswith(DIALECTS):
        known = ", ".join(dialect.rstrip(".") for dialect in DIALECTS)
        raise InputError(f"the module needs {operation.name}; programs can have operations of {known}")
    line = str(operation).strip().splitlines()[0][:120]
    dense = bindings("ir").DenseElementsAttr | bindings("ir").FloatAttr | bindings("ir").IntegerAttr
    if operation.name == "arith.constant" and not isinstance(operation.attributes["value"], dense):
        raise InputError(
            f"there is a constant in '{line}'; expected a parameter or a buffer of floats, which "
            "becomes an argument"
        )
    for value in (*operation.operands, *operation.results):
        kind = value.type
        if hasattr(kind, "shape") and (not kind.has_static_shape or str(kind.element_type) != ELEMENT):
            raise InputError(f"{kind} in '{line}'; expected tensors of {ELEMENT} with static shapes")
