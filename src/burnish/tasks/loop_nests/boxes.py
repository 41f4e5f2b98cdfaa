"""Properties of statements for their features: of the statement alone, and of its iterators inside each loop.

Footprints and traffic between caches are counted as in Ansor (Zheng et al. 2020, appendix B), for loop trees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from burnish.tasks.loop_nests.nest import Access, Call, Nest, Statement, parts_of
from burnish.tasks.loop_nests.sketches import Level
from burnish.tasks.loop_nests.tiles import LONG
from burnish.tasks.loop_nests.tree import Loop

SHARE = 0.75  # of a cache is left for the data that is counted
PAGE = 4096  # bytes
SETS_BYTES = 4096  # lines at this distance are in the same set of the first cache: 64 sets of 64-byte lines

LINE = 64  # bytes
SLOW = (*LONG, "/", "sqrt")

AnyLoop = Loop | Level


class Reach:
    """The part of a tensor that an access touches."""

    def __init__(self, nest: Nest, access: Access) -> None:
        self.size = nest.itemsize
        self.names = frozenset(access.iterators)
        self.dimensions = [
            (extent, [(name, abs(by)) for name, by in index.terms])
            for index, extent in zip(access.indices, nest.shapes[access.tensor], strict=True)
        ][::-1]

    def bytes(self, box: Mapping[str, int]) -> int:
        """Return the bytes of the cache lines that the access touches in a box."""
        rows, run, whole = 1, self.size, True  # whole: all inner dimensions are covered completely
        for extent, terms in self.dimensions:
            reach = 1
            for name, by in terms:
                reach += by * (box[name] - 1)
            if whole:
                run *= reach
                whole = reach >= extent
            else:
                rows *= reach
        return rows * ((run + LINE - 1) // LINE * LINE)


class StatementFacts:
    """Properties of a statement that do not depend on its schedule."""

    def __init__(self, nest: Nest, number: int, vector_bytes: int) -> None:
        self.nest, self.statement = nest, nest.statements[number]
        self.vector_bytes, self.size = vector_bytes, nest.itemsize
        self.lanes = vector_bytes // nest.itemsize
        self.accesses = (self.statement.target, *self.statement.accesses)
        self.strides = nest.moves[number]
        self.offsets = [nest.offset(access) for access in self.accesses]
        self.reaches = [Reach(nest, access) for access in self.accesses]
        self.box = {name: nest.extents[name] for name in self.statement.iterators}
        functions = [part.function for part in parts_of(self.statement.value) if isinstance(part, Call)]
        self.operations = max(1, self.statement.operations)
        self.slow = sum(name in SLOW for name in functions) + 5 * sum(name in LONG for name in functions)
        comparing = ("max", "min")
        self.comparisons = sum(name in comparing for name in functions) + (self.statement.reduce in comparing)
        self.products = self.statement.reduce == "+" and functions == ["*"]
        self.temporaries = [name for name in nest.written if name not in nest.outputs]


class LoopBoxes:
    """The boxes of a statement's loops: outside of all loops, inside the first, and so on.

    Attributes:
        boxes: The extent of each iterator in each box; n + 1 boxes for n loops.
        bytes: The bytes touched by each access, the target first, in each box.
        counts: The iterations of each loop.
        tile: The index of the loop that begins the tile: see `tile_depth`.
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
        self.bytes = [[reach.bytes(facts.box) for reach in facts.reaches]]
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
        """Return the reduction loops of the tile, and its unrolled and vectorized ones."""
        tile = self.loops[self.tile :]
        count = 0
        while count < len(tile) and tile[count].kind == "loop":
            count += 1
        return tile[:count], tile[count:]

    def traffic(self, cache: int) -> float:
        """Return the estimated bytes that are loaded into a cache of some size (bytes)."""
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
        """Return the number of copied elements, of copies, and of copies that read with a stride.

        These have no free iterator, or the last one moves the access by a stride other than one element.
        """
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
        """Return the approximate number of pages that a tile touches."""
        box, pages = self.boxes[self.tile], 0.0
        for access, moved, size in zip(self.accesses, self.strides, self.bytes[self.tile], strict=True):
            if access.tensor not in self.packed:
                far = [box[name] for name, step in moved.items() if abs(step) * self.size >= PAGE]
                pages += math.prod(far) if far else size / PAGE
        return pages

    def lines_of_set(self) -> float:
        """Return the estimated cache lines per used set of the first cache, for the tile's loops."""
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
    """Return the index of the loop that begins a statement's tile (see `tile_of`); len(loops) without a tile.

    Args:
        statement: The statement in the loops.
        loops: The loops around it, outer ones first.
        shared: The number of loops that contain other statements too.
    """
    depth = len(loops)

    def goes_on(fits: bool) -> bool:
        return depth > shared and fits and not any(loop.packs for loop in loops[depth : depth + 1])

    while goes_on(loops[depth - 1].kind in ("unroll", "vectorize")):
        depth -= 1
    while goes_on(loops[depth - 1].kind == "loop" and loops[depth - 1].iterator in statement.reduced):
        depth -= 1
    return depth
