"""Fills that are not stored: vectors that start at a fill's value take it from a register.

linalg fills the output of a sum, and adds to it. A tile in registers reads the filled elements once, and
then overwrites them. Such a read is the constant. If all elements are overwritten, nothing is filled: this
saves two passes over the output, which count if it is large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.payload import ops_of_kind

BOUNDS = 3  # the first operands of a loop: its first value, its last one and its step


def forward_fills(module: Any) -> None:
    """Replace reads of filled tensors by the value, where all elements are overwritten later.

    The ops are those of a scheduled module on tensors, before bufferization.
    """
    ir, vector = bindings.bindings("ir"), bindings.bindings("dialects.vector")
    for fill in ops_of_kind(module, "linalg.fill"):
        if not fill.results:
            continue
        reads: list[Any] = []
        if not _is_overwritten(fill.results[0], reads):
            continue
        value, tensor = fill.operands
        for read in reads:
            with bindings.context(), ir.Location.unknown(), ir.InsertionPoint(read):
                splat = vector.BroadcastOp(read.results[0].type, value).result
            read.results[0].replace_all_uses_with(splat)
            read.erase()
        fill.results[0].replace_all_uses_with(tensor)
        fill.erase()


@dataclass(frozen=True)
class _Box:
    """A part of a tensor."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def volume(self) -> int:
        return math.prod(self.sizes)

    def meets(self, other: _Box) -> bool:
        """Return whether the parts have a common element."""
        ends = zip(self.offsets, self.sizes, other.offsets, other.sizes, strict=True)
        return all(one < start + length and start < one + size for one, size, start, length in ends)


def _is_overwritten(value: Any, reads: list[Any]) -> bool:
    """Return whether each element of a filled tensor is overwritten, and read only before that.

    Appends the vector reads of filled elements to `reads`.
    """
    shape = tuple(value.type.shape)
    whole = _Box((0,) * len(shape), shape)
    written: list[_Box] = []
    while sum(box.volume for box in written) < whole.volume:
        writer, before = None, tuple(written)
        for use in value.uses:
            op = use.owner.operation
            if op.name == "vector.transfer_read":
                if before or not _is_inside_bounds(op, len(shape)):
                    return False
                reads.append(op)
            elif op.name == "tensor.extract_slice":
                box = _box(op)
                if box is None or any(map(box.meets, before)) or not _is_overwritten(op.results[0], reads):
                    return False
            elif writer is None and (box := _written(op, use.operand_number, whole, reads)):
                writer = op
                if any(map(box.meets, before)):
                    return False
                written.append(box)
                following = _following(op, use.operand_number)
            else:
                return False
        if writer is None:
            return False
        value = following
    return True


def _is_inside_bounds(read: Any, rank: int) -> bool:
    """Return whether a read takes elements of a tensor only; a mask would be one more operand."""
    return len(read.operands) == rank + 2 and all(one.value for one in read.attributes["in_bounds"])


def _following(op: Any, operand: int) -> Any:
    """Return the tensor after an op that writes to its operand."""
    return op.results[operand - BOUNDS if op.name == "scf.for" else 0]


def _written(op: Any, operand: int, whole: _Box, reads: list[Any]) -> _Box | None:
    """Return the part of a filled tensor that an op overwrites; None if the op is not known to do so."""
    if op.name == "tensor.insert_slice" and operand == 1:
        return _box(op)
    if op.name == "vector.transfer_write" and operand == 1:
        fills = len(op.operands) == 2 + len(whole.sizes) and _covers(op, whole)
        return whole if fills else None
    if op.name == "scf.for" and operand >= BOUNDS and _tiles(op, operand - BOUNDS, reads):
        return whole
    return None


def _covers(write: Any, whole: _Box) -> bool:
    """Return whether a vector is a whole tensor, from its first element on."""
    starts = list(write.operands)[2:]
    return math.prod(write.operands[0].type.shape) == whole.volume and all(
        _constant(start) == 0 for start in starts
    )


def _tiles(loop: Any, number: int, reads: list[Any]) -> bool:
    """Return whether each iteration of a loop overwrites a part of a tensor, and all iterations all parts."""
    body = loop.regions[0].blocks[0]
    counter, carried = body.arguments[0], body.arguments[number + 1]
    uses = [use.owner.operation for use in carried.uses]
    inserts = [op for op in uses if op.name == "tensor.insert_slice" and op.operands[1] == carried]
    extracts = [op for op in uses if op.name == "tensor.extract_slice"]
    last = list(body.operations)[-1].operation
    if len(inserts) != 1 or len(uses) != 1 + len(extracts) or last.operands[number] != inserts[0].results[0]:
        return False
    along = _partitioned(loop, inserts[0], counter)
    return along is not None and all(
        _is_inside(one, inserts[0], along, counter) and _is_overwritten(one.results[0], reads)
        for one in extracts
    )


def _partitioned(loop: Any, insert: Any, counter: Any) -> int | None:
    """Return the dimension in which the parts that a loop inserts, one an iteration, make up the tensor."""
    first, end, step = (_constant(bound) for bound in list(loop.operands)[:BOUNDS])
    shape, (offsets, sizes) = insert.operands[1].type.shape, _numbers(insert)
    moving = [i for i, offset in enumerate(offsets) if offset is None]
    if len(moving) != 1 or _offsets(insert) != [counter] or first != 0 or not end or not step:
        return None
    (along,) = moving
    still = [i for i in range(len(shape)) if i != along]
    if any(offsets[i] != 0 or sizes[i] != shape[i] for i in still):
        return None
    return along if end == shape[along] and step == sizes[along] and end % step == 0 else None


def _is_inside(extract: Any, insert: Any, along: int, counter: Any) -> bool:
    """Return whether a slice is inside of the part that the same iteration inserts."""
    offsets, sizes = _numbers(extract)
    most, length = _numbers(insert)[1][along], sizes[along]
    if [i for i, offset in enumerate(offsets) if offset is None] != [along] or most is None or length is None:
        return False
    start = _distance(_offsets(extract)[0], counter)
    return start is not None and start >= 0 and start + length <= most


def _distance(value: Any, counter: Any) -> int | None:
    """Return the constant that is added to a counter; None if a value is not such a sum."""
    ir = bindings.bindings("ir")
    if value == counter:
        return 0
    if isinstance(value.owner, ir.Block) or value.owner.name != "affine.apply":
        return None
    (total,) = value.owner.attributes["map"].value.results
    if list(value.owner.operands) != [counter] or not isinstance(total, ir.AffineAddExpr):
        return None
    one, other = total.lhs, total.rhs
    plain = isinstance(one, (ir.AffineDimExpr, ir.AffineSymbolExpr))
    return int(other.value) if plain and isinstance(other, ir.AffineConstantExpr) else None


def _box(slice_op: Any) -> _Box | None:
    """Return the part that a slice is, if its place is constant."""
    offsets, sizes = _numbers(slice_op)
    if None in offsets or None in sizes:
        return None
    return _Box(tuple(offset or 0 for offset in offsets), tuple(size or 0 for size in sizes))


def _numbers(slice_op: Any) -> tuple[list[int | None], list[int | None]]:
    """Return the offsets and the sizes of a slice; None for each that is not constant or has gaps."""
    dynamic = bindings.bindings("ir").ShapedType.get_dynamic_size()
    offsets, sizes, strides = (
        [None if number == dynamic else int(number) for number in slice_op.attributes[name]]
        for name in ("static_offsets", "static_sizes", "static_strides")
    )
    return offsets, [size if stride == 1 else None for size, stride in zip(sizes, strides, strict=True)]


def _offsets(slice_op: Any) -> list[Any]:
    """Return the values that are a slice's offsets, without the constant ones."""
    tensors = 2 if slice_op.name == "tensor.insert_slice" else 1
    count = sum(offset is None for offset in _numbers(slice_op)[0])
    return list(slice_op.operands)[tensors : tensors + count]


def _constant(value: Any) -> int | None:
    """Return the number that a value is; None if it is not constant."""
    ir = bindings.bindings("ir")
    if isinstance(value.owner, ir.Block) or value.owner.name != "arith.constant":
        return None
    return int(ir.IntegerAttr(value.owner.attributes["value"]).value)
