"""Structured random schedules: register tiles, cache blocks, copies, vectors, tails.

Uniformly drawn actions seldom make a tile. A sketch decides what the schedule of an op is made of, as Ansor's
do (Zheng et al. 2020, arXiv:2006.06762), by the op's class; `entries` says by which actions the op gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from burnish.core.trace import Trace, entry
from burnish.tasks.mlir_schedules.actions import INDEX
from burnish.tasks.mlir_schedules.legality import DECOMPOSED, is_product
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.session import ScheduleSession

Rng = np.random.Generator
Class = Literal["product", "convolution", "window", "pointwise", "reduction", "left"]

CONVOLUTION = "conv_2d_nhwc_hwcf"
WINDOWS = ("depthwise_conv_2d_nhwc_hwc", "pooling_nhwc_max", "pooling_nhwc_sum")


@dataclass(frozen=True)
class OpSketch:
    """How one op is scheduled; what a tail is made into is a sketch of its own."""

    tile: tuple[tuple[int, int], ...]  # iterators and sizes of the register tile, the outer loop first
    blocks: tuple[tuple[int, int], ...] = ()  # of loops outside of those
    packs: tuple[tuple[int, int], ...] = ()  # operands, and around how many loops they are copied
    depth: tuple[tuple[int, int], ...] = ()  # of the loops inside: what is reduced in registers
    partial: int = 0  # results that the last of `depth` is reduced to by a loop, and to one after it
    unroll: int = 1  # of the innermost loop
    hoist: bool = True
    tails: tuple[OpSketch, ...] = ()


def class_of(op: Op) -> Class:
    """Return how an op is scheduled."""
    if is_product(op):
        return "product"
    if op.kind == CONVOLUTION:
        return "convolution"
    if op.kind in WINDOWS:
        return "window"
    if op.kind in DECOMPOSED or op.kind == "softmax":
        return "left"
    plain = all(map(op.is_projected, range(len(op.accesses))))
    if not plain or not op.extents:
        return "left"
    return "reduction" if any(op.reduces) else "pointwise"


def splits(op: Op, sketch: OpSketch) -> list[tuple[int, int, Op, Op]]:
    """Return, for each iterator that a tile does not divide: it, the size, the main op and the tail."""
    found = []
    for dimension, size in sketch.tile:
        extent = op.extents[dimension]
        if extent % size:
            tail = with_extent(op, dimension, extent % size)
            op = with_extent(op, dimension, extent - extent % size)
            found.append((dimension, size, op, tail))
    return found


def with_extent(op: Op, dimension: int, extent: int) -> Op:
    """Return an op with another extent of an iterator."""
    return replace(op, extents=(*op.extents[:dimension], extent, *op.extents[dimension + 1 :]))


def entries(op: Op, sketch: OpSketch, site: str = "") -> Trace:
    """Return the actions that make an op a sketch, at its site; its own name by default."""
    site = site or op.site
    texts: list[str] = []
    behind: list[str] = []
    for number, (dimension, size, main, tail) in enumerate(splits(op, sketch)):
        texts.append(f"split({dimension}, {size})")
        name = f"{site}.tail{number + 1 if number else ''}"
        if number < len(sketch.tails):
            behind += entries(replace(tail, site=name), sketch.tails[number], name)
        op = main
    left = dict(enumerate(op.extents))
    for dimension, size in (*sketch.blocks, *sketch.tile):
        if size < left[dimension] and left[dimension] % size == 0:
            texts.append(f"tile({dimension}, {size})")
            left[dimension] = size
    texts += [f"pack({operand}, {loops})" for operand, loops in sketch.packs]
    inner = 0
    for dimension, size in sketch.depth:
        if size < left[dimension] and left[dimension] % size == 0:
            kind = "tile_reduction" if sketch.partial and dimension == sketch.depth[-1][0] else "tile"
            texts.append(f"{kind}({dimension}, {size})")
            if kind == "tile_reduction":
                behind += [entry("vectorize", f"{site}.start"), entry("vectorize", f"{site}.combined")]
            inner = left[dimension] // size
            left[dimension] = size
    if op.kind in DECOMPOSED:
        texts.append("decompose")
    texts.append("vectorize")
    if sketch.hoist:
        texts.append("hoist")
    if sketch.unroll > 1 and inner % sketch.unroll == 0 and inner:
        texts.append(f"unroll({sketch.unroll})")
    return (*(entry(text, site) for text in texts), *behind)


def opened(session: ScheduleSession) -> tuple[Trace, dict[str, Op]]:
    """Return the ops of a program that sketches are of, and the actions that lead there."""
    session = session.fork()
    for site in session.ops.by_name.values():
        if site.op.kind == "softmax":
            session.apply(INDEX["decompose"], site.name)
    return tuple(session.trace), {site.name: site.op for site in session.ops.by_name.values()}


def trace_of(ops: Mapping[str, Op], sketches: Mapping[str, OpSketch]) -> Trace:
    """Return the actions of a program's sketches, the last op first."""
    return tuple(
        text
        for site in reversed(list(ops))
        if site in sketches
        for text in entries(ops[site], sketches[site])
    )
