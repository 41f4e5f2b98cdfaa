"""Lowering of a scheduled module to LLVM's dialect: copies of packed operands, vectors, buffers, loops.

These steps are the same for every schedule. `finish` applies transforms, which a printed schedule includes;
`lower` runs the passes after them.
"""

from __future__ import annotations

from typing import Any

from burnish.tasks.mlir_schedules import (
    bindings,
    elementary,
    fills,
    memory_plan,
    parallel,
    payload,
    stores,
    streams,
)
from burnish.tasks.mlir_schedules.payload import ANY, Script, ops_of_kind

COPIED = 64  # elements of a row that one vector copies, at most
CONTRACTED = ("arith.mulf", "arith.addf", "arith.subf")
BUFFERS = (
    "eliminate-empty-tensors,empty-tensor-to-alloc-tensor,"
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map},canonicalize,cse,func.func(buffer-loop-hoisting),"
    "buffer-deallocation-pipeline"
)
LOOPS = "convert-linalg-to-loops,scf-forall-to-for,canonicalize,cse,func.func(optimize-allocation-liveness)"
LLVM = (
    "expand-strided-metadata,lower-affine,convert-vector-to-scf{full-unroll=true},convert-scf-to-cf,"
    "canonicalize,cse,convert-vector-to-llvm{reassociate-fp-reductions=true},convert-ub-to-llvm,"
    "convert-math-to-llvm,convert-math-to-libm,expand-strided-metadata,lower-affine,finalize-memref-to-llvm,"
    "convert-arith-to-llvm,convert-index-to-llvm,convert-cf-to-llvm,"
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true},reconcile-unrealized-casts"
)
VECTORS = (  # groups of patterns; one group is applied after the other
    ("vector.cast_away_vector_leading_one_dim", "canonicalization"),
    (
        "vector.reorder_multi_reduction_dims lowering_strategy = innerparallel",
        "vector.multi_reduction_flattening lowering_strategy = innerparallel",
        "vector.multi_reduction_unrolling lowering_strategy = innerparallel",
    ),
    (
        "vector.lower_contraction lowering_strategy = outerproduct",
        "vector.lower_outerproduct",
        "vector.lower_transpose lowering_strategy = shuffle_1d",
        "canonicalization",
    ),
)


def finish(module: Any) -> str:
    """Apply the transforms that end every schedule, and return them."""
    pads = Script("pads")
    if ops_of_kind(module, "linalg.softmax"):
        found = pads.find_all("linalg.softmax")
        parts = pads.new("parts")
        pads.add(f"{parts} = transform.structured.decompose_interface {found} : ({ANY}) -> {ANY}")
    pads.clean()
    payload.apply(module, str(pads))
    images = Script("images")
    _tile_pads(module, images)
    found = images.find_all("tensor.pad")
    images.add(
        f"{images.new('copies')} = transform.structured.rewrite_in_destination_passing_style {found} : "
        f"({ANY}) -> {ANY}"
    )
    payload.apply(module, str(images))
    rest = Script("end")
    _vectorize_copies(module, rest)
    rest.clean()
    for group in VECTORS:
        rest.patterns(*group)
    rest.add(f"transform.apply_cse to {rest.find_all('func.func')} : {ANY}")
    payload.apply(module, str(rest))
    return str(pads) + str(images) + str(rest)


def _tile_pads(module: Any, script: Script) -> None:
    """Tile padding by images and channels: each is filled with zeros, then copied while it is in a cache."""
    pads = ops_of_kind(module, "tensor.pad")
    if not pads:
        return
    handles = script.split_handle(script.find_all("tensor.pad"), len(pads))
    for pad, handle in zip(pads, handles, strict=True):
        widths = [list(pad.attributes[name]) for name in ("static_low", "static_high")]
        padded = [i for i, both in enumerate(zip(*widths, strict=True)) if any(both)]
        if not padded or not padded[0] or pad.parent.name != "func.func":
            continue
        sizes = [int(i < padded[0]) for i in range(len(widths[0]))]
        results = [script.new("image"), *(script.new("loop") for _ in range(padded[0]))]
        types = ", ".join([ANY] * len(results))
        script.add(
            f"{', '.join(results)} = transform.structured.tile_using_for {handle} tile_sizes {sizes} : "
            f"({ANY}) -> ({types})"
        )


def lower(module: Any, threads: int = 1) -> None:
    """Lower a finished module to LLVM's dialect; the kernel takes a pointer for each array.

    With several threads, these share the iterations of parallel loops; with one, all loops run in order.

    Raises:
        torch_mlir.ir.MLIRError: a pass fails.
    """
    fills.forward_fills(module)
    stores.store_rows(module)
    bindings.run_passes(module, BUFFERS)
    _copies_to_linalg(module)
    loops = parallel.outline(module) if threads > 1 else []
    bindings.run_passes(module, LOOPS)
    _allow_fused_products(module)
    streams.stream_results(module)
    elementary.expand(module)
    memory_plan.plan_memory(module)
    _keep_apart(module)
    bindings.run_passes(module, LLVM)
    parallel.define_calls(module, loops, threads)


def _allow_fused_products(module: Any) -> None:
    """Allow a product and a sum to become one instruction, rounded once, as in C compilers."""
    with bindings.context():
        contract = bindings.bindings("ir").Attribute.parse("#arith.fastmath<contract>")
        for kind in CONTRACTED:
            for operation in ops_of_kind(module, kind):
                operation.attributes["fastmath"] = contract


def _keep_apart(module: Any) -> None:
    """Mark the arrays that a function takes as noalias; the C header asks callers for that."""
    ir = bindings.bindings("ir")
    with bindings.context():
        noalias, nothing = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()}), ir.DictAttr.get({})
        for function in ops_of_kind(module, "func.func"):
            kinds = ir.TypeAttr(function.attributes["function_type"]).value.inputs
            attributes = [noalias if isinstance(kind, ir.MemRefType) else nothing for kind in kinds]
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def _vectorize_copies(module: Any, script: Script) -> None:
    """Vectorize the copies of packed operands, row by row."""
    copies = ops_of_kind(module, "linalg.copy")
    if not copies:
        return
    handles = script.split_handle(script.find_all("linalg.copy"), len(copies))
    for copy, handle in zip(copies, handles, strict=True):
        shape = tuple(copy.operands[0].type.shape)
        width = max((size for size in range(1, COPIED + 1) if shape[-1] % size == 0), default=1)
        sizes = [1] * (len(shape) - 1) + [width if width < shape[-1] else 0]
        loops = sum(1 for size in sizes if size)
        if width < 4 or not loops:
            continue
        tiled = script.new("row")
        results = [tiled, *(script.new("loop") for _ in range(loops))]
        types = ", ".join([ANY] * len(results))
        script.add(
            f"{', '.join(results)} = transform.structured.tile_using_for {handle} tile_sizes {sizes} : "
            f"({ANY}) -> ({types})"
        )
        script.add(f"transform.structured.vectorize {tiled} : {ANY}")


def _copies_to_linalg(module: Any) -> None:
    """Turn copies of strided memory into linalg.copy: calls would need a library that is missing."""
    ir, linalg = bindings.bindings("ir"), bindings.bindings("dialects.linalg")
    with bindings.context(), ir.Location.unknown():
        for copy in ops_of_kind(module, "memref.copy"):
            with ir.InsertionPoint(copy):
                linalg.copy(copy.operands[0], outs=[copy.operands[1]])
            copy.erase()
