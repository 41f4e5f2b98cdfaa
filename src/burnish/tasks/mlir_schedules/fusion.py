"""Loops of a reader into which an op can be fused: loops that slice the op's result."""

from __future__ import annotations

from typing import Any

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.payload import LOOP, SITE
from burnish.tasks.mlir_schedules.sites import Site


def depths(module: Any, site: Site, reader: Site) -> tuple[int, ...]:
    """Return the depths in a reader's loops of all slices of a site's result; () if one is outside.

    A depth counts the loops around a slice, from the outermost one on. Each slice is taken of the one before,
    so the op is fused into one loop after the other. If the result is the reader's initial value, loops carry
    it; the op can also be fused into an scf.forall that carries it.
    """
    known = {loop.name: number for number, loop in enumerate(reader.loops, 1)}
    found: set[int] = set()
    for value in find(module, reader.name).operands:
        found.update(_slices(value, site.name, known) or ())
    return () if 0 in found else tuple(sorted(found))


def _slices(value: Any, site: str, known: dict[str, int]) -> list[int] | None:
    """Return the depths of a value's slices, 0 outside of all loops; None if it is not a site's result."""
    ir = bindings.bindings("ir")
    found = []
    while True:
        owner = value.owner
        if isinstance(owner, ir.Block):
            loop = owner.owner
            if loop.name != "scf.forall":
                return None
            number = len(owner.arguments) - ir.BlockArgument(value).arg_number
            found.append(_depth(loop, known))
            value = loop.operands[len(loop.operands) - number]
        elif SITE in owner.attributes:
            return found if owner.attributes[SITE].value == site else None
        elif owner.name == "tensor.extract_slice":
            found.append(_depth(owner.parent, known))
            value = owner.operands[0]
        else:
            return None


def _depth(loop: Any, known: dict[str, int]) -> int:
    attributes = loop.attributes
    return known.get(attributes[LOOP].value, 0) if LOOP in attributes else 0


def find(module: Any, site: str) -> Any:
    """Return the op of a site, which must exist."""
    ir = bindings.bindings("ir")
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if SITE in operation.attributes and operation.attributes[SITE].value == site:
            found.append(operation)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[0]
