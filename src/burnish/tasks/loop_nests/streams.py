"""Streaming statements: their tensors are large, and they do few operations per byte.

Memory delivers cache lines fastest in sequence. A schedule makes a detour if it leaves a row before its end,
or if it works on many rows at a time. benchmarks/results/schedule-costs has 120 nests that stream: for 114 of
them a schedule without a detour is the fastest, or at most 10 % slower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from burnish.tasks.loop_nests.boxes import LoopBoxes, StatementFacts

LARGE_BYTES = 1 << 20  # all tensors of a statement: more than the private caches of a core hold
DENSE = 4.0  # operations per byte; above, memory is not the bottleneck
SHARE = 1 / 8  # of the statement's bytes; smaller tensors do not count
LONG_BYTES = 1 << 14  # a few pages: after a run of this length, a jump costs little
FAR_BYTES = 2048  # distance from which on two rows are separate streams
FEW_ROWS = 16  # streams that the hardware prefetches
SHORT = 1.0  # log2 of the slowdown by short runs
CROWDED = 0.5  # log2 of the slowdown for each doubling of the rows above FEW_ROWS


@dataclass(frozen=True)
class Stream:
    """The memory layout of a statement's large tensors.

    Attributes:
        order: The row's iterator, then the others of the main tensor, by increasing stride. The main tensor
            is the largest one, or the target if it is at least half as large.
        large: The names of the large tensors.
    """

    order: tuple[str, ...]
    large: frozenset[str]

    @property
    def row(self) -> str:
        """The iterator along which the elements of all large tensors are contiguous."""
        return self.order[0]


def stream_of(facts: StatementFacts) -> Stream | None:
    """Return a statement's stream; None if it does not stream, or its large tensors share no row iterator."""
    sizes: dict[str, int] = {}
    for access, reach in zip(facts.accesses, facts.reaches, strict=True):
        sizes[access.tensor] = max(sizes.get(access.tensor, 0), reach.bytes(facts.box))
    total = sum(sizes.values())
    if total < LARGE_BYTES or facts.operations * math.prod(facts.box.values()) > DENSE * total:
        return None
    large = frozenset(tensor for tensor, size in sizes.items() if size >= SHARE * total)
    rows = [
        {name for name, step in moved.items() if step == 1 and facts.box[name] > 1}
        for access, moved in zip(facts.accesses, facts.strides, strict=True)
        if access.tensor in large
    ]
    common = set.intersection(*rows)
    if not common:
        return None
    row = max(sorted(common), key=lambda name: facts.box[name])
    most = max(range(len(facts.accesses)), key=lambda number: sizes[facts.accesses[number].tensor])
    if 2 * sizes[facts.statement.target.tensor] >= sizes[facts.accesses[most].tensor]:
        most = 0  # the target, whose indices are plain
    moved = facts.strides[most]
    others = sorted(
        (name for name in moved if name != row and moved[name]), key=lambda name: abs(moved[name])
    )
    return Stream((row, *others), large)


def detour(stream: Stream | None, boxes: LoopBoxes) -> float:
    """Return log2 of the estimated slowdown of a statement against loops without a detour."""
    if stream is None:
        return 0.0
    whole = math.prod(boxes.boxes[0][name] for name in stream.order) * boxes.size
    short = run_bytes(stream, boxes) < min(whole, LONG_BYTES)
    return SHORT * short + CROWDED * max(0.0, math.log2(max(1, far_rows(stream, boxes)) / FEW_ROWS))


def run_bytes(stream: Stream, boxes: LoopBoxes) -> int:
    """Return the bytes of a large tensor that are accessed in sequence before a loop leaves the run.

    An unrolled loop does not end a run: it works on several runs at a time.
    """
    order, extents = list(stream.order), boxes.boxes[0]
    run = behind = 1
    for depth in range(len(boxes.loops) - 1, -1, -1):
        loop, box = boxes.loops[depth], boxes.boxes[depth]
        if order and loop.iterator == order[0]:
            run = behind * box[loop.iterator]
            if box[loop.iterator] == extents[loop.iterator]:
                behind = run
                order.pop(0)
        elif loop.iterator in order and loop.kind != "unroll" and boxes.counts[depth] > 1:
            break
    return run * boxes.size


def far_rows(stream: Stream, boxes: LoopBoxes) -> int:
    """Return the rows of large tensors that a tile touches; rows closer than FAR_BYTES count as one."""
    box = boxes.boxes[boxes.tile]
    spans: dict[str, dict[int, tuple[int, int]]] = {}
    for access in boxes.accesses:
        if access.tensor not in stream.large:
            continue
        known = spans.setdefault(access.tensor, {})
        shape = boxes.nest.shapes[access.tensor]
        for dimension, index in enumerate(access.indices):
            far = math.prod(shape[dimension + 1 :]) * boxes.size >= FAR_BYTES
            if not far or index.at(stream.row):
                continue
            reach = [by * (box[name] - 1) for name, by in index.terms]
            first = index.offset + sum(min(0, moved) for moved in reach)
            last = index.offset + sum(max(0, moved) for moved in reach)
            low, high = known.get(dimension, (first, last))
            known[dimension] = min(low, first), max(high, last)
    return sum(math.prod(high - low + 1 for low, high in each.values()) for each in spans.values())
