"""Programs of one op of another program: cheap to compile, to measure and to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.fusion import find
from burnish.tasks.mlir_schedules.ops import PASSED
from burnish.tasks.mlir_schedules.payload import SITE, Payload
from burnish.tasks.mlir_schedules.reading import MAIN

COPIED = ("arith.constant", "tensor.empty", "linalg.fill")
"""Ops that are copied along with an op that reads them: they have the same value everywhere."""

GIVEN = ("bufferization.to_tensor", *PASSED)  # ops between an argument and the op that reads it


@dataclass(frozen=True)
class OpPart:
    """A program of one op; equal ops have equal programs."""

    text: str  # its last op is the op itself; values that other ops compute for it are arguments
    cold: tuple[int, ...]  # arguments that are arguments of the whole program: like weights, not in a cache


def part(payload: Payload, site: str) -> OpPart:
    """Return the program of the op at a site."""
    ir = bindings.bindings("ir")
    op = find(payload.module, site)
    given = _given(op)
    results = [result.type for result in op.results]
    with bindings.context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            kind = ir.FunctionType.get([value.type for value in given], results)
            function = bindings.bindings("dialects.func").FuncOp(MAIN, kind)
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            known = dict(zip(given, block.arguments, strict=True))
            made = _copy(op, known)
            bindings.bindings("dialects.func").ReturnOp(list(made.results))
    return OpPart(str(module), tuple(i for i, value in enumerate(given) if _is_argument(value)))


def _given(op: Any) -> list[Any]:
    """Return the values that an op, and the ops copied with it, read from outside; each once."""
    found: list[Any] = []
    for value in _read(op):
        inner = _given(_owner(value)) if _is_copied(value) else [value]
        found += [one for one in inner if one not in found]
    return found


def _copy(op: Any, known: dict[Any, Any]) -> Any:
    """Append a copy of an op, after copies of the ops that belong to it; `known` maps values to new ones."""
    ir = bindings.bindings("ir")
    for value in _read(op):
        if value not in known:
            known[value] = _copy(_owner(value), known).results[ir.OpResult(value).result_number]
    copy = op.clone().operation
    if SITE in copy.attributes:
        del copy.attributes[SITE]

    def redirect(one: Any) -> Any:
        for number, value in enumerate(one.operands):
            if value in known:
                one.operands[number] = known[value]
        return ir.WalkResult.ADVANCE

    copy.walk(redirect)
    return copy


def _read(op: Any) -> list[Any]:
    """Return the values that an op and its body read and that are defined outside the op."""
    ir = bindings.bindings("ir")
    read: list[Any] = []
    inside: set[Any] = set()

    def visit(one: Any) -> Any:
        if one != op:
            inside.update(one.results)
        inside.update(argument for region in one.regions for block in region for argument in block.arguments)
        read.extend(one.operands)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return [value for value in dict.fromkeys(read) if value not in inside]


def _is_argument(value: Any) -> bool:
    """Return whether a value is an argument of the program, perhaps reshaped."""
    while not isinstance(value.owner, bindings.bindings("ir").Block):
        if _owner(value).name not in GIVEN:
            return False
        value = _owner(value).operands[0]
    return True


def _is_copied(value: Any) -> bool:
    owner = value.owner
    return not isinstance(owner, bindings.bindings("ir").Block) and owner.operation.name in COPIED


def _owner(value: Any) -> Any:
    return value.owner.operation
