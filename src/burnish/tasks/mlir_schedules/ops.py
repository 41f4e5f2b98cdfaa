"""Facts about linalg ops: their iteration domains, accesses, and the ops that they read and compute."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.payload import SITE

Row = tuple[int, ...]
Matrix = tuple[Row, ...]
"""A row for each dimension of a tensor: the factors of the op's iterators, and a constant."""

KEPT = 1024  # entries of each cache
PASSED = ("tensor.extract_slice", "tensor.cast", "tensor.pad", "tensor.expand_shape", "tensor.collapse_shape")


@dataclass(frozen=True)
class Op:
    """A linalg op as it is now; if it is tiled, one tile of the original op."""

    site: str
    kind: str  # without the dialect: "matmul", "generic"
    extents: tuple[int, ...]  # of the iterators
    reduces: tuple[bool, ...]  # which iterators are reduced over
    accesses: tuple[Matrix, ...]  # of the operands: inputs, then outputs
    shapes: tuple[tuple[int, ...], ...]  # of the operands
    reads: tuple[str, ...]  # the sites that made the operands; "" for arguments and constants
    outputs: int  # the number of operands that are written
    computes: Mapping[str, int] = field(hash=False, default_factory=dict)  # counts of arith and math ops
    gathers: bool = False  # it reads elements of a tensor by computed indices, as an embedding does

    @cached_property
    def points(self) -> int:
        """The size of the iteration domain."""
        return math.prod(self.extents)

    @property
    def inputs(self) -> int:
        """The number of operands that are only read."""
        return len(self.accesses) - self.outputs

    @property
    def columns(self) -> int:
        """The iterator of the last dimension of a plain op's last output."""
        return self.accesses[-1][-1].index(1)

    @property
    def inputs_with_columns(self) -> tuple[int, ...]:
        """The inputs that the iterator `columns` indexes."""
        return tuple(i for i in range(self.inputs) if any(row[self.columns] for row in self.accesses[i]))

    @cached_property
    def is_plain(self) -> bool:
        """Return whether each dimension of every operand is one iterator by itself."""
        return all(map(_is_projected, self.accesses))

    @cached_property
    def divides(self) -> bool:
        """Return whether an index divides an iterator, as in im2col; its row of the matrix is zero then."""
        rows = [
            (row, extent)
            for access, shape in zip(self.accesses, self.shapes, strict=True)
            for row, extent in zip(access, shape, strict=True)
        ]
        return any(extent > 1 and not any(row) for row, extent in rows)

    @property
    def has_windows(self) -> bool:
        """Return whether an index is a sum of iterators."""
        return bool(self.summed)

    @cached_property
    def summed(self) -> frozenset[int]:
        """The iterators that are summed in some index."""
        rows = [row[:-1] for access in self.accesses for row in access if sum(map(bool, row[:-1])) > 1]
        return frozenset(i for row in rows for i, factor in enumerate(row) if factor)


@lru_cache(KEPT)
def _is_projected(access: Matrix) -> bool:
    return all(sorted(row[:-1])[-1:] == [1] and sum(row[:-1]) == 1 and not row[-1] for row in access)


def scan(module: Any, unchanged: Mapping[str, Op] | None = None) -> dict[str, Op]:
    """Return the ops of a module that have a site, by site, in the module's order.

    Ops in `unchanged` are taken from there instead of the module.
    """
    ir, known = bindings.bindings("ir"), unchanged or {}
    found: dict[str, Op] = {}

    def visit(operation: Any) -> Any:
        if SITE in operation.attributes:
            site = operation.attributes[SITE].value
            found[site] = known.get(site) or describe(operation)
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


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


def read_from_outside(op: Any) -> list[Any]:
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


def describe(operation: Any) -> Op:
    """Return the facts about a linalg op."""
    outputs = len(operation.results)
    shapes = tuple(_shape(value) for value in operation.operands)
    kind = operation.name.partition(".")[2]
    if kind == "softmax":
        rank = len(shapes[0])
        dimension = operation.attributes["dimension"].value
        accesses: tuple[Matrix, ...] = (_identity(rank), _identity(rank))
        extents, reduces = shapes[0], tuple(i == dimension for i in range(rank))
    else:
        maps = bindings.bindings("dialects.linalg").get_indexing_maps(operation)
        accesses = tuple(_matrix(attribute.value) for attribute in maps)
        extents, reduces = _domain(accesses, shapes, maps[0].value.n_dims, outputs)
    names = _body(operation)
    return Op(
        operation.attributes[SITE].value,
        kind,
        extents,
        reduces,
        accesses,
        shapes,
        tuple(_maker(value) for value in operation.operands),
        outputs,
        Counter(name for name in names if name.startswith(("arith.", "math."))),
        "tensor.extract" in names,
    )


def _shape(value: Any) -> tuple[int, ...]:
    kind = value.type
    return tuple(kind.shape) if hasattr(kind, "shape") else ()


def _identity(rank: int) -> Matrix:
    return tuple(tuple(int(i == j) for j in range(rank + 1)) for i in range(rank))


@lru_cache(KEPT)
def _matrix(access: Any) -> Matrix:
    """Return the rows of an affine map; equal maps are one object in a context, so a cache finds them."""
    return tuple(_row(result, access.n_dims) for result in access.results)


def _row(expression: Any, rank: int) -> Row:
    """Return the factors of an affine expression, and its constant."""
    ir = bindings.bindings("ir")
    row = [0] * (rank + 1)

    def add(part: Any, factor: int) -> None:
        if isinstance(part, ir.AffineDimExpr):
            row[part.position] += factor
        elif isinstance(part, ir.AffineConstantExpr):
            row[-1] += factor * part.value
        elif isinstance(part, ir.AffineAddExpr):
            add(part.lhs, factor)
            add(part.rhs, factor)
        elif isinstance(part, ir.AffineMulExpr):
            add(part.lhs, factor * ir.AffineConstantExpr(part.rhs).value)

    add(expression, 1)
    return tuple(row)


@lru_cache(KEPT)
def _domain(
    accesses: tuple[Matrix, ...], shapes: tuple[tuple[int, ...], ...], rank: int, outputs: int
) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Return each iterator's extent, and whether it is reduced: no output is indexed by it.

    The extent is that of a dimension that the iterator indexes alone; 1 if there is no such dimension.
    """
    extents = [1] * rank
    for access, shape in zip(accesses, shapes, strict=True):
        for row, extent in zip(access, shape, strict=True):
            alone = [i for i, factor in enumerate(row[:-1]) if factor]
            if len(alone) == 1 and row[alone[0]] == 1 and not row[-1]:
                extents[alone[0]] = extent
    written = {row[:-1].index(1) for access in accesses[-outputs:] for row in access if 1 in row[:-1]}
    return tuple(extents), tuple(i not in written for i in range(rank))


def _maker(value: Any) -> str:
    """Return the site that made a value, through slices and loops; "" if there is no such site."""
    ir = bindings.bindings("ir")
    while True:
        owner = value.owner
        if isinstance(owner, ir.Block):
            loop = owner.owner
            if loop.name not in ("scf.for", "scf.forall"):
                return ""
            number = ir.BlockArgument(value).arg_number
            if loop.name == "scf.for":  # argument 0 is the counter, operands 0 to 2 its bounds
                value = loop.operands[number + 2]
            else:
                value = loop.operands[len(loop.operands) - (len(owner.arguments) - number)]
            continue
        if SITE in owner.attributes:
            return str(owner.attributes[SITE].value)
        if owner.name not in PASSED:
            return _made_in(owner, value)
        value = owner.operands[0]


def _made_in(loop: Any, value: Any) -> str:
    """Return the site that made a loop's result; "" if there is no such site."""
    if loop.name not in ("scf.for", "scf.forall"):
        return ""
    ir = bindings.bindings("ir")
    last = list(loop.regions[0].blocks[0].operations)[-1].operation
    number = ir.OpResult(value).result_number
    if loop.name == "scf.forall":
        inserts = list(last.regions[0].blocks[0].operations)
        return _maker(inserts[number].operation.operands[0])
    inner = last.operands[number]
    while not isinstance(inner.owner, ir.Block) and inner.owner.name == "tensor.insert_slice":
        inner = inner.owner.operands[0]
    return "" if isinstance(inner.owner, ir.Block) else _maker(inner)


def _body(operation: Any) -> list[str]:
    """Return the names of the ops in the body."""
    names: list[str] = []
    for region in operation.regions:
        for block in region.blocks:
            names += [op.operation.name for op in block.operations]
    return names
