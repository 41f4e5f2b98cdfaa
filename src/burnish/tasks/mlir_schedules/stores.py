"""Stores of neighbouring columns as rows: vectors that are scattered in memory are transposed first.

A tile of a convolution may have a vector of filters for each pixel. If channels come first in memory, each
element is stored by itself. Four such vectors, of neighbouring pixels, are transposed in registers first: a
store then has four elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.payload import ops_of_kind

INSERT, WRITE = "tensor.insert_slice", "vector.transfer_write"
LANE = 4  # elements of 128 bits, in which vectors are shuffled at little cost


@dataclass(frozen=True)
class _Column:
    """A vector that is inserted into a tensor along one dimension that is not the last one."""

    insert: Any
    vector: Any
    along: int  # the dimension
    offsets: tuple[int, ...]

    @property
    def row(self) -> tuple[int, tuple[int, ...]]:
        """The place of a column, but for the last dimension."""
        return self.along, self.offsets[:-1]


def store_rows(module: Any) -> None:
    """Write each four neighbouring columns that are inserted into a tensor as rows.

    The ops are those of a scheduled module on tensors, before bufferization.
    """
    columns: dict[Any, _Column] = {}
    for op in ops_of_kind(module, INSERT):
        if column := _column(op):
            columns[op.results[0]] = column
    followed = {column.insert.operands[1] for column in columns.values()}
    for result, column in columns.items():
        if result not in followed:
            _store_chain(column, columns)


def _store_chain(last: _Column, columns: Mapping[Any, _Column]) -> None:
    """Rewrite the inserts that end with a given one, each into the tensor after the one before."""
    chain = [last]
    while (before := columns.get(chain[0].insert.operands[1])) and before.row == last.row:
        if len(list(before.insert.results[0].uses)) > 1:
            break
        chain.insert(0, before)
    groups = _neighbours(chain)
    if not groups:
        return
    result = last.insert.results[0]
    uses = [(use.owner, use.operand_number) for use in result.uses]
    value, rewritten = chain[0].insert.operands[1], [column for group in groups for column in group]
    for column in chain:
        if column not in rewritten:
            column.insert.operands[1] = value
            value = column.insert.results[0]
    ir = bindings.bindings("ir")
    with bindings.context(), ir.Location.unknown(), ir.InsertionPoint.after(last.insert):
        for group in groups:
            value = _write_rows(group, value)
    for owner, number in uses:
        owner.operands[number] = value


def _neighbours(chain: Sequence[_Column]) -> list[list[_Column]]:
    """Return columns of a chain, LANE neighbours in each group."""
    ordered = sorted(chain, key=lambda column: column.offsets[-1])
    groups = []
    for _, run in groupby(enumerate(ordered), key=lambda pair: pair[1].offsets[-1] - pair[0]):
        columns = [column for _, column in run]
        groups += [columns[i : i + LANE] for i in range(0, len(columns) - LANE + 1, LANE)]
    return groups


def _write_rows(group: Sequence[_Column], tensor: Any) -> Any:
    """Write columns as rows, and return the tensor after that."""
    ir, vector = bindings.bindings("ir"), bindings.bindings("dialects.vector")
    arith, index = bindings.bindings("dialects.arith"), ir.IndexType.get()
    length = group[0].vector.type.shape[0]
    short = ir.VectorType.get([LANE], group[0].vector.type.element_type)
    rank, first = len(tensor.type.shape), group[0]
    last = ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(rank - 1)]))
    for place, rows in enumerate(_transposed([column.vector for column in group])):
        for lane in range(length // LANE):
            row = vector.ExtractStridedSliceOp(short, rows, [lane * LANE], [LANE], [1]).result
            offsets = list(first.offsets)
            offsets[first.along] += lane * LANE + place
            at = [arith.ConstantOp(index, offset).result for offset in offsets]
            tensor = vector.TransferWriteOp(tensor.type, row, tensor, at, last, [True]).result
    return tensor


def _transposed(columns: Sequence[Any]) -> list[Any]:
    """Return LANE vectors by shuffles of 128 bits: the n-th has the rows n, n + LANE, ... of the columns."""
    vector = bindings.bindings("dialects.vector")
    (length,) = columns[0].type.shape

    def shuffled(one: Any, other: Any, lane: Sequence[int]) -> Any:
        """Take elements of each lane of two vectors; those of the second vector have numbers from LANE on."""
        mask = [
            start + (i if i < LANE else length + i - LANE) for start in range(0, length, LANE) for i in lane
        ]
        return vector.ShuffleOp(one, other, mask).result

    low, high = (0, 4, 1, 5), (2, 6, 3, 7)  # unpcklps, unpckhps
    left, right = (0, 1, 4, 5), (2, 3, 6, 7)  # movlhps, movhlps
    a, b, c, d = columns
    pairs = [(shuffled(a, b, half), shuffled(c, d, half)) for half in (low, high)]
    return [shuffled(one, other, half) for one, other in pairs for half in (left, right)]


def _column(op: Any) -> _Column | None:
    """Return the column that an op inserts; None if it inserts anything else."""
    dynamic = bindings.bindings("ir").ShapedType.get_dynamic_size()
    offsets, sizes, strides = (
        tuple(int(number) for number in op.attributes[name])
        for name in ("static_offsets", "static_sizes", "static_strides")
    )
    write = op.operands[0].owner
    long = [i for i, size in enumerate(sizes) if size != 1]
    if len(long) != 1 or long[0] == len(sizes) - 1 or sizes[long[0]] % LANE or dynamic in (*offsets, *sizes):
        return None
    if set(strides) != {1} or getattr(write, "name", "") != WRITE or len(write.operands) != 3:
        return None
    vector = write.operands[0]
    if list(vector.type.shape) != [sizes[long[0]]] or list(op.operands[0].type.shape) != [sizes[long[0]]]:
        return None
    return _Column(op, vector, long[0], offsets)
