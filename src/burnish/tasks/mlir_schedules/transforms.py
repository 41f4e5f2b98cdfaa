"""Actions as ops of the transform dialect; each finds its op by the attribute that names the site.

An op can be fused into loops of its reader that slice the op's result (`depths`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from burnish.core.action import Action
from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.ops import find
from burnish.tasks.mlir_schedules.payload import ANY, LOOP, SITE, Script
from burnish.tasks.mlir_schedules.sites import Site

GENERIC, PACK, UNPACK, TRANSPOSE, PAD, EXPAND, EMPTY, COLLAPSE, SLICE, COPY = (
    f'!transform.op<"{kind}">'
    for kind in (
        *("linalg.generic", "linalg.pack", "linalg.unpack", "linalg.transpose", "tensor.pad"),
        *("tensor.expand_shape", "tensor.empty", "tensor.collapse_shape", "tensor.extract_slice"),
        "linalg.copy",
    )
)
UNPACKED = (EMPTY, TRANSPOSE, COLLAPSE, SLICE, COPY)  # the ops that lower_unpack makes of an unpack


def write(site: Site, text: str, step: int) -> str:
    """Return the transforms of an action, but `fuse`, at a site; values are named after the step's number."""
    action = Action.parse(text)
    script = Script(step)
    _WRITERS[action.kind](script, site, *map(int, action.parameters))
    return str(script)


def write_fusion(site: Site, reader: Site, at: Sequence[int], step: int) -> str:
    """Return the transforms that fuse an op into loops of its reader, at some of the `depths`, in order."""
    script = Script(step)
    op = script.find(SITE, site.name)
    for depth in at:
        name = reader.loops[depth - 1].name
        loop, fused, around = script.find(LOOP, name), script.new("fused"), script.new("loop")
        script.add(
            f"{fused}, {around} = transform.structured.fuse_into_containing_op {op} into {loop} : "
            f"({ANY}, {ANY}) -> ({ANY}, {ANY})"
        )
        script.annotate(around, LOOP, name)
        op = fused
    script.add(f"transform.apply_dce to {script.find_all('func.func')} : {ANY}")
    return str(script)


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


def _tile(script: Script, site: Site, dimension: int, size: int, *, loop_op: str = "for") -> None:
    op, (tiled, loop) = script.find(SITE, site.name), (script.new("tiled"), script.new("loop"))
    sizes = [size if i == dimension else 0 for i in range(len(site.op.extents))]
    script.add(
        f"{tiled}, {loop} = transform.structured.tile_using_{loop_op} {op} tile_sizes {sizes} : "
        f"({ANY}) -> ({ANY}, {ANY})"
    )
    script.annotate(loop, LOOP, f"{site.name}/{site.made}")


def _tile_reduction(script: Script, site: Site, dimension: int, size: int) -> None:
    """Reduce to `size` partial results in a loop, and combine them after it."""
    op = script.find(SITE, site.name)
    start, partial, combined, loop = (script.new(stem) for stem in ("start", "partial", "combined", "loop"))
    sizes = [size if i == dimension else 0 for i in range(len(site.op.extents))]
    script.add(
        f"{start}, {partial}, {combined}, {loop} = transform.structured.tile_reduction_using_for {op} "
        f"by tile_sizes = {sizes} : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})"
    )
    for handle, part in ((start, ".start"), (partial, ""), (combined, ".combined")):
        script.annotate(handle, SITE, f"{site.name}{part}")
    script.annotate(loop, LOOP, f"{site.name}/{site.made}")


def _split(script: Script, site: Site, dimension: int, size: int) -> None:
    op, both = script.find(SITE, site.name), script.new("both")
    extent = site.op.extents[dimension]
    script.add(
        f"{both} = transform.structured.split {op} after {extent - extent % size} "
        f"{{dimension = {dimension}}} : {ANY}"
    )
    script.annotate(script.split_handle(both, 2)[1], SITE, site.next_tail)


def _pad(script: Script, site: Site, dimension: int, size: int) -> None:
    op = script.find(SITE, site.name)
    handles = [script.new(stem) for stem in ("padded", "pad", "copy")]
    zeros = ", ".join("0.0 : f32" for _ in site.op.accesses)
    script.add(
        f"{', '.join(handles)} = transform.structured.pad {op} pad_to_multiple_of [{size}] "
        f'{{padding_values = [{zeros}], padding_dimensions = [{dimension}], copy_back_op = "none"}} : '
        f"({ANY}) -> ({ANY}, {ANY}, {ANY})"
    )
    script.clean()


def _interchange(script: Script, site: Site, one: int, other: int) -> None:
    handle = script.find(SITE, site.name)
    if site.op.kind != "generic":
        general = script.new("generic")
        script.add(f"{general} = transform.structured.generalize {handle} : ({ANY}) -> {ANY}")
        handle = general
    order = list(range(len(site.op.extents)))
    order[one], order[other] = order[other], order[one]
    result = script.new("interchanged")
    script.add(
        f"{result} = transform.structured.interchange {handle} iterator_interchange = {order} : "
        f"({ANY}) -> {ANY}"
    )
    script.annotate(result, SITE, site.name)


def _pack(script: Script, site: Site, operand: int, loops: int) -> None:
    script.clean()
    op = script.find(SITE, site.name)
    padded, pads, copies, hoisted = (script.new(stem) for stem in ("padded", "pads", "copies", "packed"))
    count = len(site.op.accesses)
    values = ", ".join("0.0 : f32" for _ in range(count))
    flags = [int(number == operand) for number in range(count)]
    alone = [i for i in range(len(site.op.extents)) if i not in site.op.summed]
    script.add(
        f"{padded}, {pads}, {copies} = transform.structured.pad {op} {{padding_values = [{values}], "
        f"padding_dimensions = {alone}, nofold_flags = {flags}, "
        f'copy_back_op = "none"}} : ({ANY}) -> ({ANY}, {ANY}, {ANY})'
    )
    made = script.producer(padded, operand, PAD)
    script.add(f"{hoisted} = transform.structured.hoist_pad {made} by {loops} loops : ({PAD}) -> {ANY}")


def _data_tile(script: Script, site: Site, size: int) -> None:
    """Store operands in blocks along the columns; the elements of a block are in the order of the reads."""
    op, general = script.find(SITE, site.name), script.new("general")
    columns = site.op.columns
    sizes = [size if i == columns else 0 for i in range(len(site.op.extents))]
    script.add(f"{general} = transform.structured.pack {op} packed_sizes = {sizes} : ({ANY}) -> {GENERIC}")
    for operand, access in enumerate(site.op.accesses):
        if any(row[columns] for row in access):
            made = script.producer(general, operand, PACK, of=GENERIC)
            pad, shape, turned = (script.new(stem) for stem in ("pad", "shape", "turned"))
            script.add(
                f"{pad}, {shape}, {turned} = transform.structured.lower_pack {made} : "
                f"({PACK}) -> ({PAD}, {EXPAND}, {TRANSPOSE})"
            )
            if operand < site.op.inputs:
                script.annotate(script.cast(turned, TRANSPOSE), SITE, f"{site.name}.blocks")
    unpack = script.new("unpack")
    script.add(f"{unpack} = transform.get_consumers_of_result {general}[0] : ({GENERIC}) -> {UNPACK}")
    handles = ", ".join(script.new("part") for _ in UNPACKED)
    script.add(
        f"{handles} = transform.structured.lower_unpack {unpack} : ({UNPACK}) -> ({', '.join(UNPACKED)})"
    )
    script.annotate(script.cast(general, GENERIC), SITE, site.name)
    script.clean()


def _im2col(script: Script, site: Site) -> None:
    op = script.find(SITE, site.name)
    columns, product = script.new("columns"), script.new("reshaped")
    script.add(
        f"{columns}, {product} = transform.structured.convert_conv2d_to_img2col {op} : "
        f"({ANY}) -> ({ANY}, {ANY})"
    )
    script.annotate(columns, SITE, f"{site.name}.columns")
    script.annotate(script.producer(product, 0), SITE, site.name)


def _decompose(script: Script, site: Site) -> None:
    op, parts = script.find(SITE, site.name), script.new("parts")
    kind = "decompose_interface" if site.op.kind == "softmax" else "decompose"
    script.add(f"{parts} = transform.structured.{kind} {op} : ({ANY}) -> {ANY}")
    if kind == "decompose":
        script.annotate(parts, SITE, site.name)
        return
    handles = {"": parts}
    for part, (reader, operand) in SOFTMAX_PARTS.items():
        handles[part] = script.producer(handles[reader], operand)
    for part, handle in handles.items():
        script.annotate(handle, SITE, f"{site.name}.{part}" if part else site.name)


def _fold_unit_dims(script: Script, site: Site) -> None:
    """Make the op, the only one in its innermost loop, a generic op without iterators of extent 1."""
    general, found = script.new("general"), script.new("folded")
    script.add(
        f"{general} = transform.structured.generalize {script.find(SITE, site.name)} : ({ANY}) -> {ANY}"
    )
    loop = script.find(LOOP, site.loops[-1].name)
    script.patterns("linalg.fold_unit_extent_dims_via_slices", "canonicalization", within=loop)
    script.add(f'{found} = transform.structured.match ops{{["linalg.generic"]}} in {loop} : ({ANY}) -> {ANY}')
    script.annotate(found, SITE, site.name)


SOFTMAX_PARTS = {  # each part makes this operand of that part; "" is the last part, the quotient
    "exp": ("", 0),
    "sum": ("", 1),
    "zero": ("sum", 1),
    "max": ("exp", 1),
    "low": ("max", 1),
}


def _vectorize(script: Script, site: Site) -> None:
    op = script.find(SITE, site.name)
    script.add(f"transform.structured.vectorize {op} {{create_named_contraction}} : {ANY}")


def _hoist(script: Script, site: Site) -> None:
    """Keep in registers the values that every iteration reads and writes, hoisted as far as possible."""
    script.clean(within=script.find(LOOP, site.loops[0].name))
    for again in (False, True):
        for loop in reversed(site.loops):
            if not loop.shared:
                handle = script.find(LOOP, loop.name)
                script.add(f"transform.loop.hoist_loop_invariant_subsets {handle} : {ANY}")
        # First the ops before all loops, too, because an accumulator has the shape of its initial value.
        within = script.find(LOOP, site.loops[0].name) if again else ""
        script.patterns("vector.cast_away_vector_leading_one_dim", "canonicalization", within=within)


def _unroll(script: Script, site: Site, factor: int) -> None:
    loop = script.find(LOOP, site.loops[-1].name)
    script.add(f"transform.loop.unroll {loop} {{factor = {factor}}} : {ANY}")


_WRITERS: dict[str, Callable[..., None]] = {
    "tile": _tile,
    "tile_parallel": partial(_tile, loop_op="forall"),
    "tile_reduction": _tile_reduction,
    "split": _split,
    "pad": _pad,
    "interchange": _interchange,
    "pack": _pack,
    "data_tile": _data_tile,
    "im2col": _im2col,
    "decompose": _decompose,
    "fold_unit_dims": _fold_unit_dims,
    "vectorize": _vectorize,
    "hoist": _hoist,
    "unroll": _unroll,
}
