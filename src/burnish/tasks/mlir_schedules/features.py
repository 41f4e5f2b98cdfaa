"""Features of a scheduled op, to predict its time: a row for the op, and one for each tail."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from burnish.core.action import Action
from burnish.core.trace import Trace, split_entry
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.sketches import (
    Class,
    OpSketch,
    channels_last,
    class_of,
    realize,
    repeats,
    sketch_of,
    with_extent,
)

CLASSES: tuple[Class, ...] = ("product", "convolution", "window", "pointwise", "reduction", "left")
ELEMENT = 4  # bytes
REGISTERS = {16: 32, 8: 16, 4: 16}  # vector registers, by the lanes of a vector of f32
CACHES = (32 << 10, 512 << 10, 16 << 20)  # bytes
OPERANDS = 3  # operands in the features: two inputs, then the output
CALLS = ("math.exp", "math.tanh", "math.erf", "math.powf", "math.log")

COLUMNS = (
    "iterations",
    "operations of one",
    *CLASSES,
    *("is left to LLVM", "is a tail", "calls of one", "divisions and roots of one"),
    *(f"bytes of operand {i}" for i in range(OPERANDS)),
    *(f"stride of the vector in operand {i}" for i in range(OPERANDS)),
    *(f"operand {i} has the vector's iterator" for i in range(OPERANDS)),
    *("extent of the vector's iterator", "extent of the rows' iterator"),
    *("iterations of others", "iterations that are reduced"),
    *("lanes", "vectors of a row", "lanes in use", "rows", "accumulators"),
    *("registers", "registers that are missing", "registers in use", "loads of an operation"),
    *("vector is reduced", "partial results", "step of the depth", "bodies"),
    *("iterations in registers", "iterations of the innermost loop", "rows are innermost"),
    *("hoisted", "points of a tile"),
    *(f"copies operand {i}" for i in range(2)),
    *(f"loops of the copy of operand {i}" for i in range(2)),
    *(f"block of {what}" for what in ("rows", "columns", "depth")),
    *(f"bytes of operand {i} in the inner loops" for i in range(OPERANDS)),
    *(f"the inner loops fit into cache {i}" for i in (1, 2, 3)),
    *(f"all fits into cache {i}" for i in (1, 2, 3)),
    *(f"step of operand {i} in the depth" for i in range(2)),
)


def rows_of(op: Op, sketch: OpSketch | None, lanes: int, tail: bool = False) -> list[NDArray[np.float32]]:
    """Return float32[F] for an op, then for each of its tails."""
    if sketch is None:
        return [_row(op, None, lanes, tail)]
    real = realize(op, sketch)
    found = [_row(real.main, sketch, lanes, tail)]
    for number, (*_, rest) in enumerate(real.tails):
        one = sketch.tails[number] if number < len(sketch.tails) else None
        found += rows_of(rest, one, lanes, True)
    return found


def features(ops: Mapping[str, Op], sketches: Mapping[str, OpSketch], lanes: int) -> NDArray[np.float32]:
    """Return float32[rows, F]: the rows of all ops of a program."""
    rows = [row for site, op in ops.items() for row in rows_of(op, sketches.get(site), lanes)]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(COLUMNS))


def features_of_trace(ops: Mapping[str, Op], trace: Trace, lanes: int) -> NDArray[np.float32]:
    """Return float32[rows, F] as `features` does, for a trace of actions on the ops.

    Raises:
        InputError: sketches have no such action as one of the trace's.
    """
    at: dict[str, list[str]] = {}
    for text in trace:
        site, action = split_entry(text)
        at.setdefault(site, []).append(action)
    rows = [row for site, op in ops.items() for row in _rows_after(op, site, at, lanes)]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(COLUMNS))


def _rows_after(
    op: Op, site: str, at: Mapping[str, list[str]], lanes: int, tail: bool = False
) -> list[NDArray[np.float32]]:
    """Return the rows of an op and its tails after the actions at their sites."""
    tails: list[NDArray[np.float32]] = []
    texts: list[str] = []
    splits = 0
    for text in at.get(site, ()):
        action = Action.parse(text)
        if action.kind != "split":
            texts.append(text)
            continue
        dimension, size = map(int, action.parameters)
        extent = op.extents[dimension]
        rest = with_extent(op, dimension, extent % size)
        splits += 1
        tails += _rows_after(rest, f"{site}.tail{splits if splits > 1 else ''}", at, lanes, True)
        op = with_extent(op, dimension, extent - extent % size)
    return [*rows_of(op, sketch_of(op, texts), lanes, tail), *tails]


def _row(op: Op, sketch: OpSketch | None, lanes: int, tail: bool) -> NDArray[np.float32]:
    kind = class_of(op)
    work = max(1, sum(op.computes.values()))
    values: dict[str, float] = dict.fromkeys(COLUMNS, 0.0)
    values["iterations"], values["operations of one"] = _log(op.points), _log(work)
    values[kind] = 1.0
    values["is left to LLVM"], values["is a tail"] = float(sketch is None), float(tail)
    values["calls of one"] = sum(op.computes.get(name, 0) for name in CALLS)
    slow = ("arith.divf", "math.sqrt", "math.rsqrt")
    values["divisions and roots of one"] = sum(op.computes.get(name, 0) for name in slow)
    values["lanes"] = _log(lanes)
    extents = dict(enumerate(op.extents))
    sizes = [ELEMENT * math.prod(_shape(op, number, extents)) for number in range(len(op.accesses))]
    for i, number in enumerate(_seen(op)):
        values[f"bytes of operand {i}"] = _log(sizes[number])
    total = sum(sizes)
    for level, size in enumerate(CACHES, 1):
        values[f"all fits into cache {level}"] = min(1.0, size / total)
    values["iterations that are reduced"] = _log(_product(op, lambda i: op.reduces[i]))
    if sketch:
        _scheduled(values, op, sketch, lanes)
    return np.array(list(values.values()), dtype=np.float32)


def _scheduled(values: dict[str, float], op: Op, sketch: OpSketch, lanes: int) -> None:
    """Add the features that depend on a sketch."""
    real = realize(op, sketch)
    left = real.left
    if repeats(op, sketch):  # as if the repeated vectors were one tile, of arrays in the order of reading
        left = {**left, sketch.depth[-1][0]: real.pixels}
        op = channels_last(op)
    tile = [dimension for dimension, _ in sketch.tile]
    blocks = {dimension: size for dimension, size in real.outer if (dimension, size) in sketch.blocks}
    inside = {**dict(enumerate(op.extents)), **dict(real.outer)}
    order = [dimension for dimension, _ in real.outer if dimension in tile]
    vector = _vector(op, left)
    free = [i for i, reduced in enumerate(op.reduces) if not reduced]
    rows = max((i for i in free if i != vector), key=lambda i: left[i], default=vector)
    depth = [i for i, _ in sketch.depth if op.reduces[i]]
    inner = depth[-1] if depth else vector
    width, height = left[vector], math.prod(left[i] for i in free if i != vector)
    registers = -(-width // lanes)
    accumulators = registers * height
    loads = registers + 1
    room = REGISTERS.get(lanes, 16)
    points = math.prod(left.values())
    values["extent of the vector's iterator"] = _log(op.extents[vector])
    values["extent of the rows' iterator"] = _log(op.extents[rows]) if rows != vector else 0.0
    values["iterations of others"] = _log(
        _product(op, lambda i: i not in (vector, rows) and not op.reduces[i])
    )
    values["vectors of a row"], values["lanes in use"] = float(registers), width / (registers * lanes)
    values["rows"], values["accumulators"] = float(height), float(accumulators)
    values["registers"] = float(accumulators + loads)
    values["registers that are missing"] = max(0.0, accumulators + loads - room)
    values["registers in use"] = min(1.0, accumulators / room)
    values["loads of an operation"] = (registers + height) / max(1, accumulators)
    values["vector is reduced"] = float(op.reduces[vector])
    values["partial results"] = float(bool(sketch.partial))
    values["step of the depth"] = _log(left[inner])
    values["bodies"] = _log(real.unroll)
    values["iterations in registers"] = _log(math.prod(inside[i] // left[i] for i in depth))
    values["iterations of the innermost loop"] = _log(real.trips)
    values["rows are innermost"] = float(bool(order) and order[-1] == rows)
    values["hoisted"], values["points of a tile"] = float(sketch.hoist), _log(points)
    for operand, loops in real.packs:
        values[f"copies operand {operand}"] = 1.0
        values[f"loops of the copy of operand {operand}"] = float(loops)
    for what, i in (("rows", rows), ("columns", vector), ("depth", inner)):
        values[f"block of {what}"] = _log(blocks[i]) if i in blocks else 0.0
    panel = {**left, **{i: inside[i] for i in depth}}
    if order:
        panel[order[-1]] = inside[order[-1]]
    sizes = [ELEMENT * math.prod(_shape(op, number, panel)) for number in _seen(op)]
    for i, size in enumerate(sizes):
        values[f"bytes of operand {i} in the inner loops"] = _log(size)
    for level, size in enumerate(CACHES, 1):
        values[f"the inner loops fit into cache {level}"] = min(1.0, size / max(1, sum(sizes)))
    for i, number in enumerate(_seen(op)):
        values[f"stride of the vector in operand {i}"] = _log(1 + _stride(op, number, vector))
        values[f"operand {i} has the vector's iterator"] = float(_stride(op, number, vector) > 0)
        if i < 2:
            values[f"step of operand {i} in the depth"] = _log(1 + _stride(op, number, inner))


def _seen(op: Op) -> list[int]:
    """Return the numbers of the operands in the features: the first two inputs, and the first output."""
    return [*range(min(2, op.inputs)), op.inputs] if op.outputs else list(range(min(2, op.inputs)))


def _vector(op: Op, left: Mapping[int, int]) -> int:
    """Return the vectors' iterator: the output's innermost one of extent > 1 in a tile, else the longest."""
    access = op.accesses[op.inputs] if op.outputs else ()
    for row in reversed(access):
        if 1 in row[:-1] and left[row[:-1].index(1)] > 1:
            return row[:-1].index(1)
    return max(left, key=lambda i: (left[i], i))


def _shape(op: Op, operand: int, extents: Mapping[int, int]) -> list[int]:
    """Return the extents of the part of an operand that the iterators cover."""
    return [
        1 + sum(factor * (extents[i] - 1) for i, factor in enumerate(row[:-1]) if factor)
        for row in op.accesses[operand]
    ]


def _stride(op: Op, operand: int, iterator: int) -> int:
    """Return the number of elements by which an operand moves when an iterator grows by 1, perhaps 0."""
    shape, stride, found = op.shapes[operand], 1, 0
    for row, extent in zip(reversed(op.accesses[operand]), reversed(shape), strict=True):
        found += row[iterator] * stride
        stride *= extent
    return found


def _product(op: Op, wanted: Callable[[int], bool]) -> int:
    return math.prod(extent for i, extent in enumerate(op.extents) if wanted(i))


def _log(value: float) -> float:
    return math.log2(value) if value > 0 else 0.0
