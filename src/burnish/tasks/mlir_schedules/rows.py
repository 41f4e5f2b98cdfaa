"""An op as a row of numbers: its kind, the loops around it, its accesses, and its schedule so far.

A row has the contents of MLIR-RL's representation (Bendib et al. 2024, arXiv:2409.11068): the iteration
domain, the access matrices, counts of operations, and the loops so far. It adds the stage, packed operands
and unrolling.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from burnish.tasks.mlir_schedules.actions import MOST_DIMENSIONS
from burnish.tasks.mlir_schedules.legality import MOST_LOOPS
from burnish.tasks.mlir_schedules.ops import Matrix, Op
from burnish.tasks.mlir_schedules.sites import Site, TilingLoop

OPERANDS = 4  # in a row: the accesses of the first ones
TENSOR_DIMENSIONS = 4  # in a row: the last ones of each operand
KEPT = 1024  # rows in the cache
BITS = 32.0  # divisor of logarithms
KINDS = (
    "fill",
    "generic",
    "matmul",
    "batch_matmul",
    "conv_2d_nhwc_hwcf",
    "conv_2d_nchw_fchw",
    "depthwise_conv_2d_nhwc_hwc",
    "pooling_nhwc_max",
    "pooling_nhwc_sum",
    "softmax",
    "add",
    "transpose",
    "reduce",
    "other",
)
COMPUTED = ("addf", "subf", "mulf", "divf", "maximumf", "cmpf", "exp", "tanh", "erf", "sqrt", "other")
STAGES = ("op", "vectors", "hoisted")

DIMENSION_COLUMNS = tuple(
    f"{what} of iterator {i}" for i in range(MOST_DIMENSIONS) for what in ("extent", "is reduced", "tiles")
)
LOOP_COLUMNS = tuple(
    f"{what} of loop {i}"
    for i in range(MOST_LOOPS)
    for what in ("iterator", "step", "trips", "is reduced", "is shared")
)
ACCESS_COLUMNS = tuple(
    f"operand {operand}, dimension {d}, {what}"
    for operand in range(OPERANDS)
    for d in range(TENSOR_DIMENSIONS)
    for what in ("extent", *(f"iterator {i}" for i in range(MOST_DIMENSIONS)))
)
COLUMNS = (
    "is there",
    "is at the cursor",
    *KINDS,
    *STAGES,
    "points",
    "reads",
    "readers",
    "loops",
    "bodies",
    "packed 0",
    "packed 1",
    *COMPUTED,
    *DIMENSION_COLUMNS,
    *LOOP_COLUMNS,
    *ACCESS_COLUMNS,
)
AT_CURSOR, READERS = COLUMNS.index("is at the cursor"), COLUMNS.index("readers")


@lru_cache(KEPT)
def op_row(site: Site) -> NDArray[np.float32]:
    """Return float32[F]: the row of an op without the cursor and its readers, which depend on other ops."""
    op = site.op
    kind = op.kind if op.kind in KINDS else "other"
    found = [1.0, 0.0]
    found += [float(kind == one) for one in KINDS] + [float(site.stage == one) for one in STAGES]
    found += [_log(op.points), len(op.reads) / 8, 0.0]
    found += [len(site.loops) / MOST_LOOPS, _log(site.unrolled), *(float(i in site.packed) for i in range(2))]
    found += _computed(op) + _dimensions(site) + _loops(site.loops)
    return np.concatenate([np.array(found, dtype=np.float32), _accesses(op.accesses, op.shapes)])


def _computed(op: Op) -> list[float]:
    counts = dict.fromkeys(COMPUTED, 0)
    for name, count in op.computes.items():
        short = name.partition(".")[2]
        counts[short if short in counts else "other"] += count
    return [count / 8 for count in counts.values()]


def _dimensions(site: Site) -> list[float]:
    tiles = [0] * MOST_DIMENSIONS
    for loop in site.own_loops:
        tiles[loop.dimension] += 1
    found = []
    for i in range(MOST_DIMENSIONS):
        there = i < len(site.op.extents)
        found += [_log(site.op.extents[i]) if there else 0.0]
        found += [float(there and site.op.reduces[i]), tiles[i] / 4]
    return found


def _loops(loops: tuple[TilingLoop, ...]) -> list[float]:
    found = [0.0] * len(LOOP_COLUMNS)
    for number, loop in enumerate(reversed(loops[-MOST_LOOPS:])):
        found[5 * number : 5 * number + 5] = [
            (1 + loop.dimension) / MOST_DIMENSIONS,
            _log(loop.step),
            _log(loop.trips),
            float(loop.reduces),
            float(loop.shared),
        ]
    return found


@lru_cache(KEPT)
def _accesses(accesses: tuple[Matrix, ...], shapes: tuple[tuple[int, ...], ...]) -> NDArray[np.float32]:
    found = np.zeros((OPERANDS, TENSOR_DIMENSIONS, 1 + MOST_DIMENSIONS), dtype=np.float32)
    for operand, (access, shape) in enumerate(zip(accesses[:OPERANDS], shapes[:OPERANDS], strict=True)):
        pairs = list(zip(access, shape, strict=True))[-TENSOR_DIMENSIONS:]
        for place, (factors, extent) in enumerate(pairs, TENSOR_DIMENSIONS - len(pairs)):
            found[operand, place, 0] = _log(extent)
            known = factors[:-1][:MOST_DIMENSIONS]
            found[operand, place, 1 : 1 + len(known)] = known
    return found.ravel()


def _log(value: float) -> float:
    return math.log2(value) / BITS if value > 0 else 0.0
