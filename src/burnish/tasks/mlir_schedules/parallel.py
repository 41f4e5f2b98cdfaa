"""Parallel loops of a kernel as functions of an iteration, which a pool of threads calls.

The body of an outermost scf.forall becomes a function of the buffers that it reads and of the iteration's
index. After the conversion to LLVM's dialect, the kernel calls burnish_parallel (tensors/thread_pool.h) with
an array of these buffers' addresses. Loops inside such a loop run in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.memory_plan import ALLOCATE, FREE
from burnish.tasks.mlir_schedules.ops import read_from_outside
from burnish.tasks.mlir_schedules.payload import KERNEL
from burnish.tasks.tensors.threads import POOL

POINTER = "!llvm.ptr"
POOL_TYPES = (POINTER, POINTER, "i64", POINTER, "i64", "i64")
COPIED = ("affine.apply", "memref.get_global", "ub.poison", "vector.broadcast")  # ops without effects
COPIED_DIALECTS = ("arith.", "index.", "math.")  # so are all of these
VIEWS = tuple(
    f"memref.{name}"
    for name in ("cast", "collapse_shape", "expand_shape", "reinterpret_cast", "subview", "view")
)


@dataclass(frozen=True)
class ParallelLoop:
    """A loop whose body is a function."""

    number: int
    buffers: int  # that its body takes
    count: int  # of iterations

    @property
    def call(self) -> str:
        """The function that the kernel calls for the whole loop."""
        return f"{KERNEL}.parallel.{self.number}"

    @property
    def iteration(self) -> str:
        """The function of one iteration: it takes the buffers, then the index."""
        return f"{KERNEL}.iteration.{self.number}"


def outline(module: Any) -> list[ParallelLoop]:
    """Make the body of each parallel loop in a bufferized kernel a function, and each loop a call.

    A loop stays as it is if its bounds are not static, or if it reads values other than whole buffers.
    """
    ir = bindings.bindings("ir")
    kernel = ir.SymbolTable(module.operation)[KERNEL]
    loops: list[ParallelLoop] = []
    with bindings.context(), ir.Location.unknown():
        for op in list(kernel.entry_block.operations):
            if op.operation.name == "scf.forall" and (found := _outlined(module, op.operation, len(loops))):
                loops.append(found)
    return loops


def define_calls(module: Any, loops: Sequence[ParallelLoop], threads: int) -> None:
    """Define the functions that call the pool, in a module in LLVM's dialect."""
    if not loops:
        return
    ir = bindings.bindings("ir")
    declared = {loop.call: op for loop in loops for op in module.body.operations if _name(op) == loop.call}
    text = f"llvm.func @{POOL}({', '.join(POOL_TYPES)})\n" + "".join(_calls(loop, threads) for loop in loops)
    iterations = {loop.iteration for loop in loops}
    with bindings.context(), ir.Location.unknown():
        for op in declared.values():
            op.operation.erase()
        for op in ir.Module.parse(text).body.operations:
            if _name(op) not in iterations:  # they are only declared there
                module.body.append(op.operation.clone())


def is_parallel(module: Any) -> bool:
    """Return whether a module in LLVM's dialect has parallel loops."""
    return any(_name(op) == POOL for op in module.body.operations)


def _outlined(module: Any, loop: Any, number: int) -> ParallelLoop | None:
    """Move a loop's body into a function; None if this is not possible."""
    ir, func = bindings.bindings("ir"), bindings.bindings("dialects.func")
    bounds = [list(loop.attributes[f"static{name}"]) for name in ("LowerBound", "UpperBound", "Step")]
    if any(bound < -(1 << 62) for group in bounds for bound in group):
        return None
    copies, buffers = list[Any](), list[Any]()
    if not all(_gather(value, copies, buffers) for value in read_from_outside(loop)):
        return None
    own = [value for value in buffers if _is_scratch(value, loop)]
    given = [value for value in buffers if value not in own]
    extents = [-(-(end - begin) // step) for begin, end, step in zip(*bounds, strict=True)]
    found = ParallelLoop(number, len(given), math.prod(extents))
    types = [value.type for value in given]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(found.iteration, ([*types, ir.IndexType.get()], []))
        function.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        func.FuncOp(found.call, (types, []), visibility="private")
    block = function.add_entry_block()
    known = dict(zip(given, block.arguments, strict=False))
    with ir.InsertionPoint(block):
        for value in own:
            known[value] = value.owner.operation.clone().results[0]
        for op in copies:
            copy = op.clone()
            _redirect(copy, known)
            known.update(zip(op.results, copy.results, strict=True))
        indices = _indices(block.arguments[len(given)], extents, bounds)
    body = loop.regions[0].blocks[0]
    known.update(zip(body.arguments, indices, strict=True))
    for op in list(body.operations)[:-1]:
        _redirect(op.operation, known)
        block.append(op.operation)
    with ir.InsertionPoint(block):
        for value in own:
            bindings.bindings("dialects.memref").DeallocOp(known[value])
        func.ReturnOp([])
    with ir.InsertionPoint(loop):
        func.CallOp([], ir.FlatSymbolRefAttr.get(found.call), given)
    loop.erase()
    for value in own:
        for use in list(value.uses):
            use.owner.erase()
        value.owner.operation.erase()
    return found


def _gather(value: Any, copies: list[Any], buffers: list[Any]) -> bool:
    """Add a value to the buffers, or the ops that make it to the copied ones, the first one first.

    Return whether the value is such.
    """
    ir = bindings.bindings("ir")
    is_argument = isinstance(value.owner, ir.Block)
    name = "" if is_argument else value.owner.operation.name
    if is_argument or name == ALLOCATE:
        whole = _is_dense(value.type)
        if whole and value not in buffers:
            buffers.append(value)
        return whole
    op = value.owner.operation
    if not (name in (*COPIED, *VIEWS) or name.startswith(COPIED_DIALECTS)):
        return False
    if not all(_gather(operand, copies, buffers) for operand in op.operands):
        return False
    if op not in copies:
        copies.append(op)
    return True


def _is_dense(kind: Any) -> bool:
    ir = bindings.bindings("ir")
    if not isinstance(kind, ir.MemRefType) or not kind.has_static_shape:
        return False
    return bool(kind.affine_map == ir.AffineMap.get_identity(kind.rank))


def _is_scratch(buffer: Any, loop: Any) -> bool:
    """Return whether a buffer is used in one loop alone: each iteration then has a buffer of its own.

    Passes move the allocation of such a buffer out of the loop, which is right only in a loop in order.
    """
    if isinstance(buffer.owner, bindings.bindings("ir").Block):
        return False
    users = [use.owner.operation for use in buffer.uses]
    return all(user.name == FREE or _is_in(user, loop) for user in users)


def _is_in(op: Any, loop: Any) -> bool:
    while op is not None and op.name != "func.func":
        if op == loop:
            return True
        op = op.parent.operation if op.parent else None
    return False


def _redirect(op: Any, known: dict[Any, Any]) -> None:
    """Replace the operands of an op, and of the ops inside, by known values."""

    def visit(one: Any) -> Any:
        for number, value in enumerate(one.operands):
            if value in known:
                one.operands[number] = known[value]
        return bindings.bindings("ir").WalkResult.ADVANCE

    op.walk(visit)


def _indices(number: Any, extents: Sequence[int], bounds: Sequence[Sequence[int]]) -> list[Any]:
    """Return the loop's indices in an iteration: the last one is the fastest."""
    ir, arith = bindings.bindings("ir"), bindings.bindings("dialects.arith")

    def constant(value: int) -> Any:
        return arith.ConstantOp(ir.IndexType.get(), value).result

    found: list[Any] = []
    inner = math.prod(extents)
    for extent, begin, step in zip(extents, bounds[0], bounds[2], strict=True):
        inner //= extent
        index = arith.RemUIOp(arith.DivUIOp(number, constant(inner)).result, constant(extent)).result
        found.append(arith.AddIOp(arith.MulIOp(index, constant(step)).result, constant(begin)).result)
    return found


def _name(op: Any) -> str:
    attributes = op.operation.attributes
    return str(attributes["sym_name"].value) if "sym_name" in attributes else ""


def _calls(loop: ParallelLoop, threads: int) -> str:
    """Return the functions that pass a loop's buffers to the pool, and from there to an iteration."""
    numbers = range(loop.buffers)
    places = [f"%p{i} = llvm.getelementptr %all[{i}] : ({POINTER}) -> {POINTER}, {POINTER}" for i in numbers]
    stores = [f"llvm.store %a{i}, %p{i} : {POINTER}, {POINTER}" for i in numbers]
    loads = [f"%a{i} = llvm.load %p{i} : {POINTER} -> {POINTER}" for i in numbers]
    whole = [
        f"%size = llvm.mlir.constant({max(1, loop.buffers)} : i64) : i64",
        f"%all = llvm.alloca %size x {POINTER} : (i64) -> {POINTER}",
        *places,
        *stores,
        f"%one = llvm.mlir.addressof @{loop.iteration}.call : {POINTER}",
        f"%count = llvm.mlir.constant({loop.count} : i64) : i64",
        f"%threads = llvm.mlir.constant({threads} : i64) : i64",
        "%no = llvm.mlir.constant(0 : i64) : i64",
        f"%none = llvm.mlir.zero : {POINTER}",
        f"llvm.call @{POOL}(%one, %all, %count, %none, %no, %threads) : ({', '.join(POOL_TYPES)}) -> ()",
        "llvm.return",
    ]
    types = ", ".join([*[POINTER] * loop.buffers, "i64"])
    given = ", ".join([*(f"%a{i}" for i in numbers), "%index"])
    one = [*places, *loads, f"llvm.call @{loop.iteration}({given}) : ({types}) -> ()", "llvm.return"]
    takes = ", ".join(f"%a{i}: {POINTER}" for i in numbers)
    return (
        f"llvm.func @{loop.iteration}({types})\n"
        f"llvm.func internal @{loop.iteration}.call(%all: {POINTER}, %index: i64, %mine: {POINTER}) {{\n"
        + "".join(f"  {line}\n" for line in one)
        + f"}}\nllvm.func internal @{loop.call}({takes}) {{\n"
        + "".join(f"  {line}\n" for line in whole)
        + "}\n"
    )
