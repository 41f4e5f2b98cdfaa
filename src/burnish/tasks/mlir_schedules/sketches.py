"""Structured random schedules: register tiles, cache blocks, copies, vectors, tails.

Uniformly drawn actions seldom make a tile. A sketch decides the parts of an op's schedule by the op's class,
as in Ansor (Zheng et al. 2020, arXiv:2006.06762); `entries` returns the actions for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from burnish.core.action import Action
from burnish.core.errors import InputError
from burnish.core.trace import Trace, entry, split_entry
from burnish.tasks.mlir_schedules.actions import (
    FURTHER_FACTORS,
    INDEX,
    MOST_DIMENSIONS,
    SHARED_SIZES,
    SIZES,
    SPLIT_SIZES,
    UNROLL_FACTORS,
)
from burnish.tasks.mlir_schedules.legality import (
    DECOMPOSED,
    IMAGES,
    MOST_BODIES,
    MOST_POINTS,
    MOST_UNROLLED,
    is_product,
)
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.session import ScheduleSession

Class = Literal["product", "convolution", "window", "pointwise", "reduction", "left"]

CONVOLUTION = "conv_2d_nhwc_hwcf"
UNSPLIT = ("softmax",)
MOST_ALONE = 1 << 16  # points of an op that one thread computes faster: several take 10 us to begin and end
DATA_TILE = 16  # columns in a block of a transposed operand
WINDOWS = (
    *("depthwise_conv_2d_nhwc_hwc", "pooling_nhwc_max", "pooling_nhwc_sum"),
    "depthwise_conv_2d_nchw_chw",
)
FOLDED = (IMAGES, "depthwise_conv_2d_nchw_chw")  # vectors run along an image's rows

SKETCHED = ("tile", "tile_reduction", "pack", "fold_unit_dims", "decompose", "vectorize", "hoist", "unroll")
"""The kinds of actions that make a sketch of an op, after its splits."""


@dataclass(frozen=True)
class OpSketch:
    """The schedule of one op; each tail has a sketch of its own."""

    tile: tuple[tuple[int, int], ...]  # iterators and sizes of the register tile, the outer loop first
    blocks: tuple[tuple[int, int], ...] = ()  # the same of the cache blocks, whose loops are outside
    packs: tuple[tuple[int, int], ...] = ()  # operands, and the number of loops that are inside their copies
    depth: tuple[tuple[int, int], ...] = ()  # the same of the loops inside; see `repeats`
    partial: int = 0  # if not 0, the last loop of `depth` makes partial results, which are combined after it
    unroll: int = 1  # the factor of the innermost loop, or of the one around repeated vectors
    hoist: bool = True
    tails: tuple[OpSketch, ...] = ()


def class_of(op: Op) -> Class:
    """Return the class of an op, which decides its kind of sketches."""
    if is_product(op):
        return "product"
    if op.kind in (CONVOLUTION, IMAGES):
        return "convolution"
    if op.kind in WINDOWS and (op.kind not in FOLDED or has_whole_rows(op)):
        return "window"
    if op.kind in (*DECOMPOSED, "softmax", "fill"):  # a fill may be a part of its reader by then
        return "left"
    if not op.is_plain or not op.extents:
        return "left"
    return "reduction" if any(op.reduces) else "pointwise"


def has_whole_rows(op: Op) -> bool:
    """Return whether neighbours in a row of the output read neighbours in a row of the input."""
    return op.accesses[0][-1][op.columns] == 1


def repeats(op: Op, sketch: OpSketch) -> bool:
    """Return whether a tile is repeated vectors: one for each pixel, made by unrolling the innermost loop.

    The loops of `depth` are reductions in registers, but for the last one here. Its pixels may be any
    elements of an image, so strides do not matter: each is multiplied by a vector of filters. The filters
    are copied in the order of reading, outside of all loops.
    """
    return op.kind == IMAGES and bool(sketch.depth) and not op.reduces[sketch.depth[-1][0]]


def channels_last(op: Op) -> Op:
    """Return a convolution of images with channels first, with filters and output in another order.

    The filters come last, as in copies for vectors of filters.
    """
    orders = ((0, 1, 2, 3), (2, 3, 1, 0), (0, 2, 3, 1))
    pairs = list(zip(op.accesses, op.shapes, orders, strict=True))
    return replace(
        op,
        accesses=tuple(tuple(access[i] for i in order) for access, _, order in pairs),
        shapes=tuple(tuple(shape[i] for i in order) for _, shape, order in pairs),
    )


@dataclass(frozen=True)
class Realized:
    """A sketch as it is applied to an op, without the parts that do not fit."""

    main: Op  # without the tails
    tails: tuple[tuple[int, int, Op], ...]  # split iterators, the sizes that then divide them, the rests
    outer: tuple[tuple[int, int], ...]  # loops that are made first: iterators and steps
    packs: tuple[tuple[int, int], ...]
    inner: tuple[tuple[int, int], ...]  # loops that are made after the copies of packed operands
    left: Mapping[int, int]  # by iterator, the extent that the loops leave to the op
    trips: int  # of the innermost loop; 0 without loops
    vectors: bool
    unroll: int
    pixels: int = 1  # bodies of the innermost loop, if the sketch repeats vectors: all its iterations


def realize(op: Op, sketch: OpSketch) -> Realized:
    """Return a sketch as it is applied to an op."""
    tails = []
    for dimension, size in (*sketch.tile, *sketch.depth):
        extent = op.extents[dimension]
        if 1 < size < extent and extent % size and size in SPLIT_SIZES and op.kind not in UNSPLIT:
            tails.append((dimension, size, with_extent(op, dimension, extent % size)))
            op = with_extent(op, dimension, extent - extent % size)
    left, trips = dict(enumerate(op.extents)), list[int]()

    def loops(wanted: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        made = []
        for dimension, size in wanted:
            if size < left[dimension] and left[dimension] % size == 0 and size in SIZES:
                trips.append(left[dimension] // size)
                left[dimension] = size
                made.append((dimension, size))
        return tuple(made)

    outer = loops((*sketch.blocks, *sketch.tile))
    before = outer
    inner = loops(sketch.depth)
    points = math.prod(left.values())
    folds = op.kind not in FOLDED or bool(outer or inner)  # fold_unit_dims needs a loop
    vectors = 1 < points <= MOST_POINTS and folds
    last, pixels = [0, *trips][-1], 1
    if repeats(op, sketch):
        before = (*outer, *inner)
        pixels = last if inner[-1:] == sketch.depth[-1:] else 1
    packs = tuple(
        (operand, min(count, len(before)))
        for operand, count in sketch.packs
        if _packs(op, operand, count, before)
    )
    unrolled = [0, *trips][-1 - (pixels > 1)]  # iterations of the loop that is left then
    unroll = sketch.unroll if unrolled and unrolled % sketch.unroll == 0 else 1
    if unroll * pixels > MOST_BODIES or unroll * pixels * points > MOST_UNROLLED:
        unroll = 1
    return Realized(op, tuple(tails), outer, packs, inner, left, last, vectors, unroll, pixels)


def _packs(op: Op, operand: int, count: int, outer: tuple[tuple[int, int], ...]) -> bool:
    """Return whether an operand can be copied outside of `count` loops: one of these must index it."""
    inside = outer[max(0, len(outer) - count) :] if count <= len(outer) or op.kind == IMAGES else ()
    return any(row[dimension] for dimension, _ in inside for row in op.accesses[operand])


def with_extent(op: Op, dimension: int, extent: int) -> Op:
    """Return an op with the extent of an iterator replaced."""
    return replace(op, extents=(*op.extents[:dimension], extent, *op.extents[dimension + 1 :]))


def entries(op: Op, sketch: OpSketch, site: str = "", threads: int = 1) -> Trace:
    """Return the actions that apply a sketch to an op; `site` is the op's own by default.

    With several threads, the outermost loop is parallel if the op has enough points.
    """
    site, real = site or op.site, realize(op, sketch)
    texts = [f"split({dimension}, {size})" for dimension, size, _ in real.tails]
    texts += parallel_loop(real, threads)
    texts += [f"tile({dimension}, {size})" for dimension, size in real.outer]
    packs = [f"pack({operand}, {loops})" for operand, loops in real.packs]
    texts += [] if repeats(op, sketch) else packs
    partial = bool(sketch.partial and real.inner and sketch.depth[-1] == real.inner[-1])
    texts += [f"tile({dimension}, {size})" for dimension, size in real.inner]
    if partial:
        texts[-1] = texts[-1].replace("tile", "tile_reduction")
    texts += packs if repeats(op, sketch) else []
    if op.kind in FOLDED:
        texts += ["fold_unit_dims"] * real.vectors
    elif op.kind in DECOMPOSED:
        texts.append("decompose")
    if real.vectors:
        texts.append("vectorize")
        if real.outer or real.inner:
            texts += [f"unroll({factor})" for factor in factors(real.pixels)]
            left = len(real.outer) + len(real.inner) > (real.pixels > 1)  # a loop to hoist out of
            texts += ["hoist"] * (sketch.hoist and left)
            texts += [f"unroll({factor})" for factor in factors(real.unroll)]
    found = [entry(text, site) for text in texts]
    if partial:
        found += [entry("vectorize", f"{site}.{part}") for part in ("start", "combined")]
    for number, ((*_, tail), one) in enumerate(zip(real.tails, sketch.tails, strict=False)):
        found += entries(tail, one, f"{site}.tail{number + 1 if number else ''}")
    return tuple(found)


def factors(pixels: int) -> list[int]:
    """Return the factors by which a loop is unrolled until nothing is left; [] if they do not exist."""
    found = []
    for factor in sorted((*UNROLL_FACTORS, *FURTHER_FACTORS), reverse=True):
        while pixels % factor == 0:
            found.append(factor)
            pixels //= factor
    return found if pixels == 1 else []


def parallel_loop(real: Realized, threads: int) -> list[str]:
    """Return the action that puts an op's loops into a parallel one, if there is one.

    Its iterator is one of copied operands if possible: each iteration would make the other copies again. Its
    steps are as long as they can be with an iteration for each thread, and as many for each. They are longer
    than those of the next loop along the same iterator, whose steps divide them.
    """
    op, found = real.main, list[tuple[int, bool, int, str]]()
    if threads < 2 or op.points < MOST_ALONE:
        return []
    for dimension, extent in enumerate(op.extents[:MOST_DIMENSIONS]):
        steps = [step for loop, step in (*real.outer, *real.inner) if loop == dimension]
        again = sum(not any(row[dimension] for row in op.accesses[operand]) for operand, _ in real.packs)
        for size in SHARED_SIZES:
            trips, rest = divmod(extent, size)
            fits = not steps or (size > steps[0] and size % steps[0] == 0)
            if not op.reduces[dimension] and not rest and trips >= threads and fits:
                found.append((again, trips % threads > 0, trips, f"tile_parallel({dimension}, {size})"))
    return [min(found)[3]] if found else []


def sketch_of(op: Op, texts: Sequence[str]) -> OpSketch | None:
    """Return the sketch whose `entries` are these actions at an op; None if the op is left to LLVM.

    The op's splits are made already, so the sketch has no tails. A tile that is too large for vectors is
    left to LLVM. Smaller ones become vectors when the schedule is compiled, also without `vectorize`.

    Raises:
        InputError: sketches have no such action.
    """
    loops: list[tuple[int, int]] = []
    packs: list[tuple[int, int]] = []
    outer: int | None = None  # loops outside of the copies
    partial, unroll, around = 0, 1, 1
    for text in texts:
        action = Action.parse(text)
        if action.kind not in SKETCHED:
            raise InputError(f"{op.site}: no sketch has {text}; expected one of {', '.join(SKETCHED)}")
        numbers = [int(parameter) for parameter in action.parameters]
        if action.kind in ("tile", "tile_reduction"):
            loops.append((numbers[0], numbers[1]))
            partial = int(action.kind == "tile_reduction")
        elif action.kind == "pack":
            packs.append((numbers[0], numbers[1]))
            outer = len(loops)
        elif action.kind == "unroll":
            unroll, around = unroll * numbers[0], around * numbers[0]
        elif action.kind == "hoist":
            around = 1  # before it, pixels were unrolled
    pixels = op.kind == IMAGES and bool(packs)  # the last loop, see `repeats`; copies are made after `depth`
    if pixels:
        outer = len(loops) - 1 - _reduced_last(op, loops[:-1])
        unroll = around if "hoist" in texts else 1
    if not texts or class_of(op) == "left":
        return None
    if outer is None:
        outer = len(loops) - _reduced_last(op, loops)
    tiled = [dimension for dimension, _ in (loops[:-1] if pixels else loops)]
    blocks = tuple(loop for i, loop in enumerate(loops[:outer]) if loop[0] in tiled[i + 1 :])
    tile = tuple(loop for loop in loops[:outer] if loop not in blocks)
    depth = loops[outer:]
    if not depth and any(op.reduces):  # the loop was not made, because its step is the whole extent
        inner = max((i for i, reduced in enumerate(op.reduces) if reduced), key=lambda i: op.extents[i])
        depth = [(inner, op.extents[inner])]
    hoist = "hoist" in texts or (not loops and class_of(op) != "pointwise")
    sketch = OpSketch(tile, blocks, tuple(packs), tuple(depth), partial, unroll, hoist)
    return sketch if realize(op, sketch).vectors else None


def _reduced_last(op: Op, loops: Sequence[tuple[int, int]]) -> int:
    """Return the number of innermost loops along reduced iterators, each of which counts once."""
    found: set[int] = set()
    for dimension, _ in reversed(loops):
        if not op.reduces[dimension] or dimension in found:
            break
        found.add(dimension)
    return len(found)


def opened(session: ScheduleSession) -> tuple[Trace, dict[str, Op]]:
    """Return the actions that come before sketches, and the ops after them, which sketches are for."""
    session = session.fork()
    for site in session.ops.by_name.values():
        action = INDEX.get(_first(site.op))
        if action is not None and session.legal(site.name)[action]:
            session.apply(action, site.name)
    return tuple(session.trace), {site.name: site.op for site in session.ops.by_name.values()}


def _first(op: Op) -> str:
    """Return the action on an op that comes before its sketch; "" if there is no such action.

    A product with one column becomes a generic op, whose partial sums are vectors.
    Vectors of another product run along the output's columns; a transposed operand is copied in their order.
    """
    if op.kind == "softmax":
        return "decompose"
    if op.kind == "matmul" and op.extents[1] == 1:
        return "interchange(0, 1)"
    if is_product(op) and op.accesses[-1]:
        read = op.inputs_with_columns
        if len(read) == 1 and not op.accesses[read[0]][-1][op.columns]:
            return f"data_tile({DATA_TILE})"
    return ""


def comes_before(text: str) -> bool:
    """Return whether an entry comes before sketches: see `opened`."""
    site, action = split_entry(text)
    kind = Action.parse(action).kind
    return kind in ("im2col", "data_tile", "interchange") or (
        kind == "decompose" and site.partition("#")[0] == "softmax"
    )


def trace_of(ops: Mapping[str, Op], sketches: Mapping[str, OpSketch], threads: int = 1) -> Trace:
    """Return the actions of a program's sketches, the last op first; threads: see `entries`."""
    return tuple(
        text
        for site in reversed(list(ops))
        if site in sketches
        for text in entries(ops[site], sketches[site], threads=threads)
    )
