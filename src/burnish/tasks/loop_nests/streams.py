"""Statements that stream: their tensors are large, and few operations are done for each byte of them.

Memory brings lines fastest one after the other. A schedule that leaves a row in the middle makes a detour,
and so does one that is in many rows at a time. benchmarks/results/schedule-costs has 120 such nests: for 114
of them a schedule without a detour is the fastest, or takes at most 10 % longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from burnish.tasks.loop_nests.boxes import LoopBoxes
from burnish.tasks.loop_nests.facts import StatementFacts

LARGE_BYTES = 1 << 20  # of all tensors of a statement: they are in no core's own caches any more
DENSE = 4.0  # operations for a byte, from which on it is not memory that counts
SHARE = 1 / 8  # of the bytes, from which on a tensor counts
LONG_BYTES = 1 << 14  # a few pages: after so many, it costs little to go elsewhere
FAR_BYTES = 2048  # between two rows that are read as two streams
FEW_ROWS = 16  # streams that the hardware brings in advance
SHORT = 1.0  # log2 of how many times as long a statement takes whose runs are short
CROWDED = 0.5  # the same, where there are twice as many rows as FEW_ROWS


@dataclass(frozen=True)
class Stream:
    """How the large tensors of a statement are in memory.

    Attributes:
        order: The iterators of the tensor that counts most, by their steps; the first one is that of a row.
        large: The tensors.
    """

    order: tuple[str, ...]
    large: frozenset[str]

    @property
    def row(self) -> str:
        """The iterator along which all of them have their elements beside each other."""
        return self.order[0]


def stream_of(facts: StatementFacts) -> Stream | None:
    """Return how a statement streams; None where it does not, or where its tensors have no common row."""
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
    """Return log2 of how many times as long a statement takes as by loops without a detour."""
    if stream is None:
        return 0.0
    whole = math.prod(boxes.boxes[0][name] for name in stream.order) * boxes.size
    short = run_bytes(stream, boxes) < min(whole, LONG_BYTES)
    return SHORT * short + CROWDED * max(0.0, math.log2(max(1, far_rows(stream, boxes)) / FEW_ROWS))


def run_bytes(stream: Stream, boxes: LoopBoxes) -> int:
    """Return how many bytes of a large tensor come one after the other before a loop goes elsewhere.

    What is unrolled is several runs at a time.
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
    """Return how many rows of large tensors a tile is in, counting those that are far from each other."""
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
