"""Legality of actions, by the state of an op and its loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from burnish.core.action import Action
from burnish.core.view import Mask
from burnish.tasks.mlir_schedules.actions import (
    ACTIONS,
    INDEX,
    MOST_DIMENSIONS,
    PAD_SIZES,
    REDUCTION_SIZES,
    SHARED_SIZES,
    SIZES,
    SPLIT_SIZES,
)
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.sites import Site

MOST_LOOPS = 12  # around one op
MOST_POINTS = 512  # of an op that is vectorized: LLVM needs seconds for longer bodies
MOST_BODIES = 32  # copies of an unrolled loop's body: the time of passes grows faster than their number
MOST_UNROLLED = 4096  # points of all these copies

IMAGES = "conv_2d_nchw_fchw"
FILTERS = {"conv_2d_nhwc_hwcf": 1, IMAGES: 1}  # the operand of a kind that vectors of filters read
DECOMPOSED = {  # 2-d windows become 1-d if both iterators of one of these pairs have extent 1
    "conv_2d_nhwc_hwcf": ((1, 4), (2, 5)),
    "conv_2d_nchw_fchw": ((2, 5), (3, 6)),
    "depthwise_conv_2d_nhwc_hwc": ((1, 4), (2, 5)),
    "pooling_nhwc_sum": ((1, 4), (2, 5)),
    "pooling_nhwc_max": ((1, 4), (2, 5)),
    "pooling_nchw_sum": ((2, 4), (3, 5)),
    "pooling_nchw_max": ((2, 4), (3, 5)),
}
VECTOR_WINDOWS = (
    *("conv_1d_nwc_wcf", "conv_1d_ncw_fcw", "depthwise_conv_1d_nwc_wc"),
    *("pooling_nwc_sum", "pooling_nwc_max", "pooling_ncw_sum", "pooling_ncw_max"),
)

Fuses = Callable[[int], bool]
"""Returns whether a site can be fused into that many outer loops of the op that reads it."""


def legal(site: Site, fuses: Fuses) -> Mask:
    """Return the mask of ACTIONS that are legal at a site: bool[n]; moves of the cursor are False."""
    mask = np.zeros(len(ACTIONS), dtype=bool)
    if site.stage == "op":
        for kind, allows in _SIZED.items():
            for dimension, extent in enumerate(site.op.extents[:MOST_DIMENSIONS]):
                if allows(site, dimension):
                    mask[_PLACES[kind][dimension]] = _fitting(kind, extent)
    for kind in OF_OPS if site.stage == "op" else OF_VECTORS:
        rule = _RULES[kind]
        if kind != "interchange" or _interchanges(site):
            for number, numbers in _NUMBERED[kind]:
                mask[number] = rule(site, fuses, *numbers)
    return mask


@cache
def _fitting(kind: str, extent: int) -> Mask:
    """Return the mask of a kind's sizes that fit an extent: divisors for tiles, others to split or pad."""
    rest = kind in ("split", "pad")
    return np.array([size < extent and (extent % size != 0) == rest for size in SIZES_OF[kind]])


def _tile(site: Site, dimension: int) -> bool:
    if len(site.loops) >= MOST_LOOPS or (site.own and site.op.divides):
        return False
    return site.op.kind != "softmax" or not site.op.reduces[dimension]


def _tile_parallel(site: Site, dimension: int) -> bool:
    """Return whether iterations may run in parallel: no reduction, and only parallel loops around them."""
    if site.op.reduces[dimension] or not _tile(site, dimension):
        return False
    return all(loop.shared for loop in site.loops)


def _tile_reduction(site: Site, dimension: int) -> bool:
    op = site.op
    if op.kind != "generic" or not op.reduces[dimension] or op.outputs != 1 or site.packed:
        return False
    return op.is_plain and _tile(site, dimension)


def _split(site: Site, _: int) -> bool:
    return site.op.kind != "softmax" and not site.own and not site.op.divides


def _pad(site: Site, _: int) -> bool:
    return is_product(site.op) and not site.loops


def _interchanges(site: Site) -> bool:
    return site.op.kind not in ("softmax", "fill") and not site.packed


def _interchange(site: Site, _: Fuses, one: int, other: int) -> bool:
    return other < len(site.op.extents)


def _pack(site: Site, _: Fuses, operand: int, loops: int) -> bool:
    """Return whether an operand can be copied outside of `loops` loops; one loop must index it."""
    if loops > site.own or operand in site.packed:
        return False
    filters = FILTERS.get(site.op.kind) == operand
    if not (is_product(site.op) or filters or _is_pixel(site.op, operand)):
        return False
    used = {i for row in site.op.accesses[operand] for i, factor in enumerate(row[:-1]) if factor}
    inner = site.loops[len(site.loops) - loops :]
    return any(loop.dimension in used for loop in inner) and not any(loop.shared for loop in inner)


def _is_pixel(op: Op, operand: int) -> bool:
    """Return whether an operand is one pixel of an image with channels first: a tile without windows."""
    return op.kind == IMAGES and operand == 0 and all(op.extents[i] == 1 for i in op.summed)


def _data_tile(site: Site, _: Fuses, size: int) -> bool:
    """Return whether operands can be stored in blocks along the output's columns, which one input has."""
    op = site.op
    if site.loops or site.split or not is_product(op) or not op.accesses[-1]:
        return False
    if len(op.inputs_with_columns) != 1 or len(op.extents) >= MOST_DIMENSIONS:
        return False
    extent = op.extents[op.columns]
    return extent % size == 0 and size < extent


def _fuse(_: Site, fuses: Fuses, loops: int) -> bool:
    return fuses(loops)


def _im2col(site: Site, _: Fuses) -> bool:
    return site.op.kind in FILTERS and not site.loops


def _decompose(site: Site, _: Fuses) -> bool:
    if site.op.kind == "softmax":
        return not site.loops
    pairs = DECOMPOSED.get(site.op.kind, ())
    return any(site.op.extents[one] == 1 == site.op.extents[other] for one, other in pairs)


def _fold_unit_dims(site: Site, _: Fuses) -> bool:
    """Return whether iterators of extent 1 can go, so that each index is a single remaining iterator."""
    op = site.op
    if not site.own or site.loops[-1].shared or not op.has_windows:
        return False
    extents = op.extents
    rows = [
        [factor for factor, extent in zip(row[:-1], extents, strict=True) if factor and extent > 1]
        for access in op.accesses
        for row in access
    ]
    return op.points > 1 and all(row in ([], [1]) for row in rows)


def _vectorize(site: Site, _: Fuses) -> bool:
    op = site.op
    if not 1 < op.points <= MOST_POINTS or op.kind == "softmax" or op.divides or op.gathers:
        return False
    return not op.has_windows or op.kind in VECTOR_WINDOWS


def _hoist(site: Site, _: Fuses) -> bool:
    return site.stage == "vectors" and site.own > 0


def _unroll(site: Site, _: Fuses, factor: int) -> bool:
    if not site.own or len(site.loops) <= site.holds:
        return False
    loop = site.loops[-1]
    bodies = site.unrolled * factor
    if bodies > MOST_BODIES or bodies * site.op.points > MOST_UNROLLED:
        return False
    return not loop.shared and loop.trips % factor == 0


def is_product(op: Op) -> bool:
    """Return whether an op adds up products of operands that are indexed by single iterators."""
    products = op.computes.get("arith.mulf") == 1 == op.computes.get("arith.addf")
    return products and sum(op.computes.values()) == 2 and op.inputs == 2 and any(op.reduces) and op.is_plain


SIZES_OF = {
    "tile": SIZES,
    "tile_parallel": SHARED_SIZES,
    "tile_reduction": REDUCTION_SIZES,
    "split": SPLIT_SIZES,
    "pad": PAD_SIZES,
}
_SIZED: dict[str, Callable[[Site, int], bool]] = {  # rules at a dimension, for all sizes
    "tile": _tile,
    "tile_parallel": _tile_parallel,
    "tile_reduction": _tile_reduction,
    "split": _split,
    "pad": _pad,
}
_RULES: dict[str, Callable[..., bool]] = {
    "interchange": _interchange,
    "pack": _pack,
    "data_tile": _data_tile,
    "fuse": _fuse,
    "im2col": _im2col,
    "decompose": _decompose,
    "fold_unit_dims": _fold_unit_dims,
    "vectorize": _vectorize,
    "hoist": _hoist,
    "unroll": _unroll,
}
OF_VECTORS = ("hoist", "unroll")
OF_OPS = tuple(kind for kind in _RULES if kind not in OF_VECTORS)
_NUMBERED: dict[str, list[tuple[int, tuple[int, ...]]]] = {kind: [] for kind in _RULES}
for _index, _action in enumerate(map(Action.parse, ACTIONS)):
    if _action.kind in _RULES:
        _NUMBERED[_action.kind].append((_index, tuple(map(int, _action.parameters))))
_PLACES = {  # by kind and dimension, the slice of ACTIONS with all sizes
    kind: [
        slice(INDEX[f"{kind}({dimension}, {sizes[0]})"], INDEX[f"{kind}({dimension}, {sizes[-1]})"] + 1)
        for dimension in range(MOST_DIMENSIONS)
    ]
    for kind, sizes in SIZES_OF.items()
}
