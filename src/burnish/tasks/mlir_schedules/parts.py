"""Programs of one op of another program: what is cheap to compile, to measure and to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.fusion import find
from burnish.tasks.mlir_schedules.ops import PASSED
from burnish.tasks.mlir_schedules.payload import SITE, Payload
from burnish.tasks.mlir_schedules.reading import MAIN

COPIED = ("arith.constant", "tensor.empty", "linalg.fill")
"""What an op keeps around it: the values that it starts from, if they are the same everywhere."""


GIVEN = ("bufferization.to_tensor", *PASSED)  # what an argument goes through before an op reads it


@dataclass(frozen=True)
class OpPart:
    """A program of one op; ops that are alike have the same."""

    text: str  # its last op is that; what others compute for it are arguments
    cold: tuple[int, ...]  # arguments that are the whole program's: as weights, they come from memory


def part(payload: Payload, site: str) -> OpPart:
    """Return the program of the op of a site."""
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
    """Return the values that come from elsewhere, each once."""
    found: list[Any] = []
    for value in _read(op):
        inner = _given(_owner(value)) if _is_copied(value) else [value]
        found += [one for one in inner if one not in found]
    return found


def _copy(op: Any, known: dict[Any, Any]) -> Any:
    """Append an op, and before it those that are copied with it; values that are known replace others."""
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
    """Return the values of elsewhere that an op reads, those that its body reads, too."""
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
    """Return whether a value is an argument of the program, perhaps in another shape."""
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
