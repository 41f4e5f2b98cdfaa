"""Where an action is legal, by what is known of the op."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from burnish.core.action import Action
from burnish.core.view import Mask
from burnish.tasks.mlir_schedules.actions import ACTIONS, CURSOR
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.sites import Site

MOST_LOOPS = 12  # around one op
MOST_POINTS = 512  # of an op that becomes vectors: LLVM needs seconds for longer bodies
MOST_BODIES = 32  # of a loop that is unrolled: passes take much longer than in proportion
MOST_UNROLLED = 4096  # points of all these bodies

IMAGE_CONVOLUTIONS = ("conv_2d_nhwc_hwcf", "conv_2d_nchw_fchw")
DECOMPOSED = {  # 2-d windows become 1-d where one of these pairs of iterators has a single value each
    "conv_2d_nhwc_hwcf": ((1, 4), (2, 5)),
    "conv_2d_nchw_fchw": ((2, 5), (3, 6)),
    "depthwise_conv_2d_nhwc_hwc": ((1, 4), (2, 5)),
    "pooling_nhwc_sum": ((1, 4), (2, 5)),
    "pooling_nhwc_max": ((1, 4), (2, 5)),
    "pooling_nchw_sum": ((2, 4), (3, 5)),
    "pooling_nchw_max": ((2, 4), (3, 5)),
}
VECTOR_WINDOWS = (
    "conv_1d_nwc_wcf",
    "conv_1d_ncw_fcw",
    "depthwise_conv_1d_nwc_wc",
    "pooling_nwc_sum",
    "pooling_nwc_max",
    "pooling_ncw_sum",
    "pooling_ncw_max",
)

Fuses = Callable[[int], bool]
"""Whether a site can be computed in so many outer loops of the op that reads it."""


def legal(site: Site, fuses: Fuses) -> Mask:
    """Return which of ACTIONS apply at a site: bool[n]; moves of a cursor do not."""
    mask = np.zeros(len(ACTIONS), dtype=bool)
    for kind in OF_OPS if site.stage == "op" else OF_VECTORS:
        rule = _RULES[kind]
        for number, numbers in _NUMBERED[kind]:
            if numbers and kind in OF_DIMENSIONS and numbers[0] >= len(site.op.extents):
                break  # and so are all that follow
            mask[number] = rule(site, fuses, *numbers)
    return mask


def _tile(site: Site, _: Fuses, dimension: int, size: int) -> bool:
    op = site.op
    if len(site.loops) >= MOST_LOOPS:
        return False
    if op.kind == "softmax" and op.reduces[dimension]:
        return False
    extent = op.extents[dimension]
    return size < extent and extent % size == 0


def _tile_parallel(site: Site, fuses: Fuses, dimension: int, size: int) -> bool:
    """Take iterations that may run at the same time: nothing is reduced, no other loop is outside."""
    if not _tile(site, fuses, dimension, size) or site.op.reduces[dimension]:
        return False
    return all(loop.shared for loop in site.loops)


def _tile_reduction(site: Site, fuses: Fuses, dimension: int, size: int) -> bool:
    op = site.op
    if op.kind != "generic" or not op.reduces[dimension] or op.outputs != 1:
        return False
    plain = all(map(op.is_projected, range(len(op.accesses))))
    return plain and _tile(site, fuses, dimension, size) and not site.packed


def _split(site: Site, _: Fuses, dimension: int, size: int) -> bool:
    op = site.op
    if op.kind == "softmax" or site.own:
        return False
    extent = op.extents[dimension]
    return size < extent and extent % size != 0


def _pad(site: Site, fuses: Fuses, dimension: int, size: int) -> bool:
    return _split(site, fuses, dimension, size) and is_product(site.op) and not site.loops


def _interchange(site: Site, _: Fuses, one: int, other: int) -> bool:
    if other >= len(site.op.extents) or site.packed:
        return False
    return site.op.kind not in ("softmax", "fill") and not _has_windows(site)


def _pack(site: Site, _: Fuses, operand: int, loops: int) -> bool:
    """Copy outside of some loops, of which at least one goes through the copy."""
    if not is_product(site.op) or loops > site.own or operand in site.packed:
        return False
    used = {i for row in site.op.accesses[operand] for i, factor in enumerate(row[:-1]) if factor}
    inner = site.loops[len(site.loops) - loops :]
    return any(loop.dimension in used for loop in inner) and not any(loop.shared for loop in inner)


def _fuse(_: Site, fuses: Fuses, loops: int) -> bool:
    return fuses(loops)


def _im2col(site: Site, _: Fuses) -> bool:
    return site.op.kind in IMAGE_CONVOLUTIONS and not site.loops


def _decompose(site: Site, _: Fuses) -> bool:
    if site.op.kind == "softmax":
        return not site.loops
    pairs = DECOMPOSED.get(site.op.kind, ())
    return any(site.op.extents[one] == 1 == site.op.extents[other] for one, other in pairs)


def _vectorize(site: Site, _: Fuses) -> bool:
    op = site.op
    if not 1 < op.points <= MOST_POINTS or op.kind == "softmax":
        return False
    return not _has_windows(site) or op.kind in VECTOR_WINDOWS


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
    plain = all(map(op.is_projected, range(len(op.accesses))))
    return products and sum(op.computes.values()) == 2 and op.inputs == 2 and any(op.reduces) and plain


def _has_windows(site: Site) -> bool:
    """Return whether an index is a sum of iterators."""
    return any(sum(map(bool, row[:-1])) > 1 for access in site.op.accesses for row in access)


_RULES: dict[str, Callable[..., bool]] = {
    "tile": _tile,
    "tile_parallel": _tile_parallel,
    "tile_reduction": _tile_reduction,
    "split": _split,
    "pad": _pad,
    "interchange": _interchange,
    "pack": _pack,
    "fuse": _fuse,
    "im2col": _im2col,
    "decompose": _decompose,
    "vectorize": _vectorize,
    "hoist": _hoist,
    "unroll": _unroll,
}
OF_OPS = tuple(kind for kind in _RULES if kind not in ("hoist", "unroll"))
OF_VECTORS = ("hoist", "unroll")
OF_DIMENSIONS = ("tile", "tile_reduction", "tile_parallel", "split", "pad", "interchange")
_NUMBERED: dict[str, list[tuple[int, tuple[int, ...]]]] = {kind: [] for kind in _RULES}
for _index, _action in enumerate(map(Action.parse, ACTIONS)):
    if _action.kind not in CURSOR:
        _NUMBERED[_action.kind].append((_index, tuple(map(int, _action.parameters))))
