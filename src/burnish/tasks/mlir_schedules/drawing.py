"""Random sketches: register tiles, cache blocks, copies, depths; and variations of sketches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from burnish.tasks.mlir_schedules.actions import (
    FURTHER_LOOPS,
    REDUCTION_SIZES,
    SIZES,
    SPLIT_SIZES,
    UNROLL_FACTORS,
)
from burnish.tasks.mlir_schedules.legality import DECOMPOSED, FILTERS, IMAGES, MOST_BODIES, MOST_POINTS
from burnish.tasks.mlir_schedules.ops import Op, Row
from burnish.tasks.mlir_schedules.sketches import (
    CONVOLUTION,
    FOLDED,
    OpSketch,
    class_of,
    has_whole_rows,
    realize,
    repeats,
)

Rng = np.random.Generator

LEFT = 0.12  # share of the ops without products that are left to LLVM, which may vectorize their loops too
LEAST = OpSketch(())  # vectors only, for a tail for which no sketch is drawn
_CONVOLUTIONS = {  # the iterators of filters, rows, pixels of a row, and channels; those of the kernel
    CONVOLUTION: ((3, 1, 2, 6), (4, 5)),
    IMAGES: ((1, 2, 3, 4), (5, 6)),
}
_NARROW: Mapping[int, Sequence[int]] = {1: (7, 8, 10), 2: (4, 5, 6)}
PIXELS: Mapping[int, Mapping[int, Sequence[int]]] = {
    16: {1: (7, 8, 14), 2: (7, 8, 14, 10, 12), 4: (4, 5, 6)},
    8: _NARROW,
    4: _NARROW,
}
"""Numbers of pixels of a tile then, by the lanes of a register and by the registers for each pixel."""
ROWS = (2, 4, 7, 8, 14)  # of a block, whose pixels are copied once for all filters
CACHED = 1 << 18  # elements of filters that a second cache and a part of the third hold
FEW = 512  # elements that are added up
MOST_COPIED = FURTHER_LOOPS[-1]
REGISTERS = {16: 28, 8: 14, 4: 14}  # most registers of a tile, by the lanes of a register


def draw(op: Op, lanes: int, rng: Rng) -> OpSketch | None:
    """Draw a sketch of an op for registers of `lanes` elements.

    None leaves the op to LLVM, always if its class has no sketches.
    """
    kind = class_of(op)
    if kind not in _DRAWN or (kind in ("pointwise", "reduction") and rng.random() < LEFT):
        return None
    return _DRAWN[kind](op, lanes, rng)


def vary(op: Op, sketch: OpSketch | None, lanes: int, rng: Rng) -> OpSketch | None:
    """Return a sketch with some parts from a newly drawn one; the new sketch if the parts do not fit."""
    other = draw(op, lanes, rng)
    if sketch is None or other is None or repeats(op, sketch) or repeats(op, other):
        return other  # repeated vectors: all loops belong together
    parts = ("blocks", "packs", "depth", "unroll", "tile", "tails")
    taken = [part for part in parts if rng.random() < 1 / 3] or ["unroll"]
    if "tile" in taken:
        taken += ["packs", "tails"]
    if "depth" in taken:
        taken += ["partial"]
    varied = replace(sketch, **{part: getattr(other, part) for part in taken})
    return varied if _is_whole(op, varied) else other


def _is_whole(op: Op, sketch: OpSketch) -> bool:
    """Return whether at most one window dimension remains (none if the window will be folded)."""
    left = realize(op, sketch).left
    if op.kind in FOLDED:
        return all(left[i] == 1 for i, reduced in enumerate(op.reduces) if reduced)
    pairs = DECOMPOSED.get(op.kind)
    return pairs is None or any(left[one] == 1 == left[other] for one, other in pairs)


def _product(op: Op, lanes: int, rng: Rng) -> OpSketch:
    rows, columns, depths = _roles(op)
    if columns is None or op.extents[columns] == 1:
        return _reduction(op, lanes, rng)
    width = _width(op.extents[columns], lanes, rng)
    most = max(1, REGISTERS[lanes] // -(-width // lanes))
    height = _height(op.extents[rows], most, rng) if rows is not None else 1
    tile = [(columns, width)] + ([(rows, height)] if rows is not None else [])
    if rng.random() < 0.25:
        tile.reverse()
    depth = max(depths, key=lambda i: op.extents[i])
    ones = [i for i in range(len(op.extents)) if i not in (rows, columns, depth)]
    blocks: list[tuple[int, int]] = [(i, 1) for i in ones if not op.reduces[i]]
    if rows is not None and op.extents[rows] > 8 * height and rng.random() < 0.3:
        blocks.append((rows, int(rng.choice([4, 8, 16, 20])) * height))
    if op.extents[depth] > 128 and rng.random() < 0.5:
        blocks.append((depth, int(rng.choice([64, 128, 256, 512]))))
    if op.extents[columns] > 8 * width and rng.random() < 0.15:
        blocks.append((columns, int(rng.choice([4, 8])) * width))
    inner = [(i, 1) for i in ones if op.reduces[i]] + [(depth, int(rng.choice([1, 1, 1, 2, 4])))]
    packs = _packs(op, columns, tile, blocks, rng)
    sketch = OpSketch(tuple(tile), tuple(blocks), packs, tuple(inner), 0, _unroll(rng))
    return _with_tails(op, sketch, lanes, rng)


def _roles(op: Op) -> tuple[int | None, int | None, list[int]]:
    """Return the iterators of a tile's rows and of its vectors, or None; then the reduced iterators."""
    used = [{i for row in access for i, factor in enumerate(row[:-1]) if factor} for access in op.accesses]
    written = [row[:-1].index(1) for row in op.accesses[-1]]
    depths = [i for i, reduced in enumerate(op.reduces) if reduced]
    columns = written[-1] if written else None
    if columns is None or sum(columns in one for one in used[:2]) != 1:
        return None, None, depths
    reader = next(number for number in range(2) if columns in used[number])
    rows = [i for i in written if i in used[1 - reader] and i not in used[reader] and op.extents[i] > 1]
    return (max(rows, key=lambda i: op.extents[i]) if rows else None), columns, depths


def _packs(
    op: Op, columns: int, tile: list[tuple[int, int]], blocks: list[tuple[int, int]], rng: Rng
) -> tuple[tuple[int, int], ...]:
    """Draw the operands to copy: the one that vectors read, the other one, both, or none."""
    reader = next(number for number in range(2) if any(row[columns] for row in op.accesses[number]))
    found: list[tuple[int, int]] = []
    for operand, share in ((reader, 0.6), (1 - reader, 0.2)):
        if rng.random() < share:
            found += _copied(op, operand, (*blocks, *tile), 3, rng)
    return tuple(found)


def _copied(
    op: Op, operand: int, loops: tuple[tuple[int, int], ...], most: int, rng: Rng
) -> list[tuple[int, int]]:
    """Draw the number of loops that an operand's copy is outside of; [] if none of these loops indexes it."""
    made = [(i, size) for i, size in loops if size < op.extents[i]]
    count = int(rng.integers(1, min(most, len(made)) + 1)) if made else 0
    inside = made[len(made) - count :]
    return [(operand, count)] if any(row[i] for i, _ in inside for row in op.accesses[operand]) else []


def _convolution(op: Op, lanes: int, rng: Rng) -> OpSketch:
    """Draw a tile of filters and pixels of a row; vectors run along the one that is innermost in memory.

    If channels come first, vectors run along filters, which are copied for that, if these are enough.
    """
    if op.kind == IMAGES and (op.extents[1] >= lanes or not has_whole_rows(op)):
        return _filters_as_vectors(op, lanes, rng)
    image, (filters, row, pixels, channels), kernel = op.kind == IMAGES, *_CONVOLUTIONS[op.kind]
    columns, rows = (pixels, filters) if image else (filters, pixels)
    width = _width(op.extents[columns], lanes, rng)
    height = _height(op.extents[rows], max(1, REGISTERS[lanes] // -(-width // lanes)), rng)
    tile = [(columns, width), (rows, height)]
    if rng.random() < 0.3:
        tile.reverse()
    blocks = [(0, 1), (row, 1)]
    if rng.random() < 0.3:
        tile, blocks = [tile[0], (row, 1), tile[1]], [(0, 1)]
    if op.extents[channels] >= 128 and rng.random() < 0.4:
        blocks.append((channels, int(rng.choice([32, 64, 128, 256]))))
    depth = [(i, 1) for i in kernel]
    depth.insert(0 if image else len(depth), (channels, 1 if image else int(rng.choice([1, 1, 2]))))
    copied = op.kind == CONVOLUTION and rng.random() < 0.5
    packs = tuple(_copied(op, FILTERS[CONVOLUTION], (*blocks, *tile), 4, rng)) if copied else ()
    sketch = OpSketch(tuple(tile), tuple(blocks), packs, tuple(depth), 0, _unroll(rng))
    return _with_tails(op, sketch, lanes, rng)


def _filters_as_vectors(op: Op, lanes: int, rng: Rng) -> OpSketch:
    """Draw vectors of filters for some pixels: of a row, of a column, or of different images.

    The loop along filters is outside of all others if the filters are in no cache. If few values are added
    up, it may be inside of the pixels' loop: the next vector then reads the same pixels. It may also be
    inside of a block of rows, whose pixels stay in a cache while all filters are read once. The loop along a
    window's row may be unrolled.
    """
    filters = _filters(op.extents[1], lanes, rng)
    pixels, count = _pixels(op, PIXELS[lanes][max(1, filters // lanes)], rng)
    others = [(i, 1) for i in (0, 2, 3) if i != pixels]
    loops: list[tuple[int, int]] = [*others, (pixels, count)]
    summed = math.prod(op.extents[4:])
    places = [0, 1] if op.extents[1] * summed > CACHED else [1, 2, 3] if summed <= FEW else [1, 2]
    place = int(rng.choice(places))
    alone = op.extents[5] == 1 == op.extents[6]
    blocks = _block_of_rows(op, rng) if alone and pixels == 3 and rng.random() < 0.4 else ()
    loops.insert(1 if blocks else place, (1, filters))
    depth = (*((i, 1) for i in (4, 5, 6)), (pixels, 1))
    unroll = int(rng.choice([1, op.extents[6]]))
    sketch = OpSketch(tuple(loops), blocks, ((1, MOST_COPIED),), depth, 0, unroll)
    if alone and (blocks or place == len(others)) and rng.random() < 0.7:
        real = realize(op, sketch)  # pixels are read for each vector of filters: copy them, too
        outside = (*blocks, *loops[: loops.index((1, filters))])
        inside = [loop for loop in (*real.outer, *real.inner) if loop not in outside]
        sketch = replace(sketch, packs=(*sketch.packs, (0, len(inside))))
    return _with_tails(op, sketch, lanes, rng)


def _filters(extent: int, lanes: int, rng: Rng) -> int:
    """Draw the filters of a tile: two whole registers or more if there are so many filters."""
    whole = [registers * lanes for registers in PIXELS[lanes] if registers * lanes <= extent]
    if not whole:
        return max(size for size in (1, 2, 4, 8) if size <= extent)
    several = whole[1:] or whole
    fit = [size for size in several if extent % size == 0] or several[:1]
    return fit[int(rng.integers(len(fit)))]


def _block_of_rows(op: Op, rng: Rng) -> tuple[tuple[int, int], ...]:
    """Draw a loop along an image's rows in steps of several; () if no number of ROWS divides them."""
    sizes = [size for size in ROWS if size < op.extents[2] and op.extents[2] % size == 0]
    return ((2, int(rng.choice(sizes))),) if sizes else ()


def _pixels(op: Op, counts: Sequence[int], rng: Rng) -> tuple[int, int]:
    """Draw the iterator of a tile's pixels, and their number; one that leaves no tail or a long one.

    Pixels of a row share lines of a cache. Those of different images share none: they are for small images.
    """
    sides = [i for i in (3, 2, 0) if op.extents[i] >= min(counts)]
    if not sides:
        longest = max((3, 2, 0), key=lambda i: op.extents[i])
        return longest, op.extents[longest]
    extent = op.extents[sides[0]]
    fit = [count for count in counts if count <= extent]
    found = [count for count in fit if extent % count == 0] or [count for count in fit if extent % count >= 3]
    found = found or fit
    return sides[0], found[int(len(found) * rng.random() ** 2)]


def _window(op: Op, lanes: int, rng: Rng) -> OpSketch:
    columns, rows, ones = (2, 1, (0, 3)) if op.kind in FOLDED else (3, 2, (0, 1))
    width = _width(op.extents[columns], lanes, rng, most=8)
    height = _height(op.extents[rows], max(1, 16 * lanes // width), rng)
    tile = [(rows, height), (columns, width)]
    if rng.random() < 0.3:
        tile.reverse()
    blocks = tuple((i, 1) for i in ones)
    sketch = OpSketch(tuple(tile), blocks, (), ((4, 1), (5, 1)), 0, int(rng.choice([1, 2, 3])))
    return _with_tails(op, sketch, lanes, rng)


def _pointwise(op: Op, lanes: int, rng: Rng) -> OpSketch:
    """Draw a tile of the output's innermost iterators, of 1 to 8 vectors."""
    order = [row[:-1].index(1) for row in op.accesses[-1]]
    tile: list[tuple[int, int]] = []
    room = lanes * int(rng.choice([1, 2, 4, 8]))
    for dimension in reversed(order):
        extent = op.extents[dimension]
        if room <= 1:
            tile.append((dimension, 1))
        elif extent <= room:
            tile.append((dimension, extent))
            room //= extent
        else:
            size = max(size for size in SIZES if size <= room)
            tile.append((dimension, size))
            room = 1
    others = _other_innermost(op)
    if others and len(order) > 1 and rng.random() < 0.8:  # a square: each side is innermost somewhere
        sides = {order[-1]: lanes, others[0][:-1].index(1): lanes}
        tile = [(i, min(sides.get(i, 1), op.extents[i])) for i in reversed(order)]
    sketch = OpSketch(tuple(reversed(tile)), hoist=False, unroll=int(rng.choice([1, 2, 4])))
    return _with_tails(op, sketch, lanes, rng)


def _other_innermost(op: Op) -> list[Row]:
    """Return the last rows of the inputs' accesses that have another iterator than the output's last row."""
    last = op.accesses[-1][-1] if op.accesses[-1] else ()
    found = [access[-1] for access in op.accesses[:-1] if access]
    return [row for row in found if row != last and any(row[:-1])]


def _reduction(op: Op, lanes: int, rng: Rng) -> OpSketch:
    """Draw vectors along the innermost iterator in memory, which is an output's or a reduced one."""
    inner = next((access[-1] for access in op.accesses if access and any(access[-1][:-1])), None)
    dimension = inner[:-1].index(1) if inner else len(op.extents) - 1
    size = min(op.extents[dimension], lanes * int(rng.choice([1, 2, 4, 8])))
    size = max(one for one in (*SIZES, size) if one <= size)
    if op.reduces[dimension]:
        rows = [i for i, reduced in enumerate(op.reduces) if not reduced]
        height = int(rng.choice([1, 1, 2, 4, 8]))
        tile = [(i, height if i == rows[-1] and height * size <= MOST_POINTS else 1) for i in rows]
        depth = [(i, 1) for i, reduced in enumerate(op.reduces) if reduced and i != dimension]
        partial = int(size in REDUCTION_SIZES and op.kind == "generic" and rng.random() < 0.7)
        sketch = OpSketch(tuple(tile), (), (), (*depth, (dimension, size)), partial, _unroll(rng))
    else:
        others = [(i, 1) for i, reduced in enumerate(op.reduces) if not reduced and i != dimension]
        depth = [(i, 1) for i, reduced in enumerate(op.reduces) if reduced]
        sketch = OpSketch((*others, (dimension, size)), (), (), tuple(depth), 0, _unroll(rng))
    return _with_tails(op, sketch, lanes, rng)


def _with_tails(op: Op, sketch: OpSketch, lanes: int, rng: Rng) -> OpSketch:
    drawn = [draw(tail, lanes, rng) or LEAST for *_, tail in realize(op, sketch).tails]
    return replace(sketch, tails=tuple(drawn))


def _width(extent: int, lanes: int, rng: Rng, most: int = 4) -> int:
    """Draw the elements of a tile's row: 1 to `most` whole vectors; the whole extent if it is shorter."""
    if extent < lanes:
        return extent
    sizes = [by * lanes for by in range(1, most + 1) if by * lanes <= extent and by * lanes in SIZES]
    dividing = [size for size in sizes if extent % size == 0]
    splitting = [size for size in sizes if size in SPLIT_SIZES]
    return int(rng.choice(dividing if dividing and rng.random() < 0.9 else splitting or dividing or sizes))


def _height(extent: int, most: int, rng: Rng) -> int:
    """Draw the rows of a tile, at most `most`; the probability grows with the number of rows."""
    sizes = [size for size in SIZES if size <= min(extent, most)]
    usable = [size for size in sizes if extent % size == 0 or size in SPLIT_SIZES]
    weights = np.array([size * (1.5 if extent % size == 0 else 1.0) for size in usable])
    return int(rng.choice(usable, p=weights / weights.sum()))


def _unroll(rng: Rng) -> int:
    return int(rng.choice([factor for factor in (1, *UNROLL_FACTORS) if factor <= MOST_BODIES // 2]))


_DRAWN = {
    "product": _product,
    "convolution": _convolution,
    "window": _window,
    "pointwise": _pointwise,
    "reduction": _reduction,
}
