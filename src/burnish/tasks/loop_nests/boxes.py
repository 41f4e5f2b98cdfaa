"""A statement in its loops: how far its iterators go inside each, and what memory is touched there.

Footprints and traffic between caches are counted as by Ansor (Zheng et al. 2020, appendix B), of loop trees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from burnish.tasks.loop_nests.facts import LINE, StatementFacts
from burnish.tasks.loop_nests.nest import Statement
from burnish.tasks.loop_nests.sketches import Level
from burnish.tasks.loop_nests.tree import Loop

SHARE = 0.75  # of a cache, that is there for what is counted
PAGE = 4096  # bytes
SETS_BYTES = 4096  # apart, two lines are in the same set of the first cache: 64 sets

AnyLoop = Loop | Level


class LoopBoxes:
    """The boxes of a statement's loops: outside of all, inside the first, and so on.

    Attributes:
        boxes: In each, how many values every iterator has; n + 1 of n loops.
        bytes: Of each access, the target first, in each box.
        counts: The iterations of each loop.
        tile: Which loop begins the tile: see `tile_depth`.
        packed: The tensors that are copied.
    """

    def __init__(self, facts: StatementFacts, loops: Sequence[AnyLoop], shared: int) -> None:
        self.facts, self.nest, self.statement = facts, facts.nest, facts.statement
        self.loops, self.shared = loops, shared
        self.size, self.lanes, self.vector_bytes = facts.size, facts.lanes, facts.vector_bytes
        self.accesses, self.strides = facts.accesses, facts.strides
        self.packed = {tensor for loop in loops for tensor in loop.packs}
        self.boxes = [facts.box]
        self.counts: list[int] = []
        self.bytes = [[reach.bytes(facts.box) for reach in facts.reaches]]  # of each access in each box
        for loop in loops:
            box, name = self.boxes[-1], loop.iterator
            self.counts.append(-(-box[name] // loop.step))
            if loop.step >= box[name]:
                self.boxes.append(box)
                self.bytes.append(self.bytes[-1])
                continue
            self.boxes.append(inside := {**box, name: loop.step})
            self.bytes.append(
                [
                    reach.bytes(inside) if name in reach.names else known
                    for reach, known in zip(facts.reaches, self.bytes[-1], strict=True)
                ]
            )
        self.tile = tile_depth(self.statement, loops, shared)

    def tile_loops(self) -> tuple[Sequence[AnyLoop], Sequence[AnyLoop]]:
        """Return the loops by which the tile reduces, and those of the tile itself."""
        tile = self.loops[self.tile :]
        count = 0
        while count < len(tile) and tile[count].kind == "loop":
            count += 1
        return tile[:count], tile[count:]

    def traffic(self, cache: int) -> float:
        """Return how many bytes come into a cache of a size."""
        depth = 0
        while depth < len(self.loops) and sum(self.bytes[depth]) > SHARE * cache:
            depth += 1
        total = 0.0
        for reach, size in zip(self.facts.reaches, self.bytes[depth], strict=True):
            last = depth
            while last and self.loops[last - 1].iterator not in reach.names:
                last -= 1
            total += size * math.prod(self.counts[:last])
        return total

    def copies(self) -> tuple[float, int, int]:
        """Return how many elements are copied, by how many copies, and how many of those change the order."""
        copied, copies, stepped = 0.0, 0, 0
        for depth, loop in enumerate(self.loops):
            for tensor in loop.packs:
                access = next(one for one in self.accesses[1:] if one.tensor == tensor)
                part = math.prod(self.boxes[depth][name] for name in access.iterators)
                copied += part * math.prod(self.counts[:depth])
                copies += 1
                last = [name for name in access.iterators if name in self.statement.free][-1:]
                stepped += not last or self.strides[self.accesses.index(access)][last[0]] != 1
        return copied, copies, stepped

    def pages(self) -> float:
        """Return about how many pages a tile touches."""
        box, pages = self.boxes[self.tile], 0.0
        for access, moved, size in zip(self.accesses, self.strides, self.bytes[self.tile], strict=True):
            if access.tensor not in self.packed:
                far = [box[name] for name, step in moved.items() if abs(step) * self.size >= PAGE]
                pages += math.prod(far) if far else size / PAGE
        return pages

    def lines_of_set(self) -> float:
        """Return how many lines of the tile's loops share a set of the first cache, where most do."""
        box, total = self.boxes[self.tile], 0.0
        for access, moved in zip(self.accesses, self.strides, strict=True):
            if access.tensor in self.packed:
                continue
            run, lines, places = self.size, 1, 1
            for name, step in moved.items():
                count, far = box[name], abs(step) * self.size
                if far < LINE:
                    run += far * (count - 1)
                else:
                    lines *= count
                    places *= min(count, SETS_BYTES // math.gcd(far, SETS_BYTES))
            beside = -(-run // LINE)
            total += lines * beside / min(places * beside, SETS_BYTES // LINE)
        return total


def tile_depth(statement: Statement, loops: Sequence[AnyLoop], shared: int) -> int:
    """Return which of the loops around a statement begins its tile, as `tile_of` says; or how many there are.

    Args:
        statement: What is in the loops.
        loops: Outer ones first.
        shared: How many of them other statements are in, too.
    """
    depth = len(loops)

    def goes_on(fits: bool) -> bool:
        return depth > shared and fits and not any(loop.packs for loop in loops[depth : depth + 1])

    while goes_on(loops[depth - 1].kind in ("unroll", "vectorize")):
        depth -= 1
    while goes_on(loops[depth - 1].kind == "loop" and loops[depth - 1].iterator in statement.reduced):
        depth -= 1
    return depth
