"""Non-temporal stores: results that are in no cache anyway are written to memory past the caches.

An ordinary store reads the line that it changes first, so a sum of two large arrays moves a third more bytes
than it has to. Such stores need aligned addresses, which callers do not promise: each one is compiled both
ways, and the address decides.
"""

from __future__ import annotations

import math
from typing import Any

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.payload import KERNEL, ops_of_kind

STREAMED = 16 << 20  # bytes of a result that leaves no room for other data in the last cache
ALIGNED = 32  # bytes, of the addresses of vectors of AVX
VIEWS = ("memref.subview", "memref.cast", "memref.collapse_shape", "memref.expand_shape")
WRITE = "vector.transfer_write"
SEQUENTIALLY_CONSISTENT = 7  # of LLVM's orderings


def stream_results(module: Any) -> None:
    """Make the vector stores to large results non-temporal, if the code only computes elements one by one.

    The ops are those of a scheduled module on memory, whose loops are structured. Sums in registers are
    written in tiles, whose parts of lines are better collected in a cache.
    """
    if any(_carries_vectors(loop) for loop in ops_of_kind(module, "scf.for")):
        return
    kernel = bindings.bindings("ir").SymbolTable(module.operation)[KERNEL]
    writes: list[Any] = []
    for argument in kernel.entry_block.arguments:
        found: list[Any] = []
        if _bytes(argument.type) >= STREAMED and _is_only_written(argument, found):
            writes += found
    streamed = [write for write in writes if _is_plain(write)]
    for write in streamed:
        _stream(write)
    if streamed:
        _fence(kernel)


def _carries_vectors(loop: Any) -> bool:
    ir = bindings.bindings("ir")
    return any(isinstance(result.type, ir.VectorType) for result in loop.results)


def _bytes(kind: Any) -> int:
    bits: int = math.prod(kind.shape) * kind.element_type.width
    return bits // 8


def _is_only_written(value: Any, writes: list[Any]) -> bool:
    """Return whether vectors are written to some memory and nothing else happens to it; append the writes."""
    for use in value.uses:
        op = use.owner.operation
        if op.name == WRITE and use.operand_number == 1:
            writes.append(op)
        elif op.name not in VIEWS or not _is_only_written(op.results[0], writes):
            return False
    return True


def _is_plain(write: Any) -> bool:
    """Return whether a write stores whole vectors of AVX, one after the other, within bounds."""
    ir = bindings.bindings("ir")
    vector, memory = write.operands[0].type, write.operands[1].type
    strides, _ = memory.get_strides_and_offset()
    rank = len(memory.shape)
    with bindings.context():
        in_order = ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(rank - 1)]))
    return bool(
        len(vector.shape) == 1
        and len(write.operands) == 2 + rank
        and strides[-1] == 1
        and write.attributes["permutation_map"] == in_order
        and all(bound.value for bound in write.attributes["in_bounds"])
        and _bytes(vector) % ALIGNED == 0
    )


def _stream(write: Any) -> None:
    """Replace a write by a non-temporal store if its address is aligned, else by an ordinary one."""
    ir, memref = bindings.bindings("ir"), bindings.bindings("dialects.memref")
    arith, scf = bindings.bindings("dialects.arith"), bindings.bindings("dialects.scf")
    vector, memory, *indices = write.operands
    with bindings.context(), ir.Location.unknown(), ir.InsertionPoint(write):
        index = ir.IndexType.get()

        def constant(number: int) -> Any:
            return arith.ConstantOp(index, number).result

        metadata = memref.ExtractStridedMetadataOp(memory)
        rank = len(indices)
        offset, strides = metadata.results[1], list(metadata.results)[2 + rank :]
        for at, stride in zip(indices, strides, strict=True):
            offset = arith.AddIOp(offset, arith.MulIOp(at, stride).result).result
        size = constant(vector.type.element_type.width // 8)
        start = memref.ExtractAlignedPointerAsIndexOp(memory).result
        address = arith.AddIOp(start, arith.MulIOp(offset, size).result).result
        rest = arith.AndIOp(address, constant(ALIGNED - 1)).result
        aligned = arith.CmpIOp(arith.CmpIPredicate.eq, rest, constant(0)).result
        choice = scf.IfOp(aligned, has_else=True)
        for block, streams in ((choice.then_block, True), (choice.else_block, False)):
            with ir.InsertionPoint(block):
                store = bindings.bindings("dialects.vector").StoreOp(vector, memory, indices)
                if streams:
                    store.operation.attributes["nontemporal"] = ir.BoolAttr.get(True)
                    kind = ir.IntegerType.get_signless(64)
                    store.operation.attributes["alignment"] = ir.IntegerAttr.get(kind, ALIGNED)
                scf.YieldOp([])
    write.erase()


def _fence(kernel: Any) -> None:
    """Order the non-temporal stores before what follows a call, for other threads."""
    ir = bindings.bindings("ir")
    last = list(kernel.entry_block.operations)[-1]
    with bindings.context(), ir.Location.unknown(), ir.InsertionPoint(last):
        kind = ir.IntegerType.get_signless(64)
        ordering = ir.IntegerAttr.get(kind, SEQUENTIALLY_CONSISTENT)
        ir.Operation.create("llvm.fence", attributes={"ordering": ordering})
