"""The tiles of a loop tree: innermost loops whose values stay in registers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.tree import LANES, Leaf, Loop, Node, Tree

Extents = Mapping[str, int]
LONG = ("exp", "tanh")  # functions with many instructions
LOOP_LINES = 10  # approximate lines of LLVM IR
COPY_LINES = 40
FUNCTION_LINES = 25
MOST_LINES = 8000  # estimated lines of a kernel; these take about a second to compile


@dataclass(frozen=True)
class TileLoops:
    """The statement of a tile, and the outer loops that reduce while the values stay in registers."""

    statement: int
    outer: tuple[Loop, ...]
    vector: str  # the vectorized iterator, or ""


def tile_of(nest: Nest, loop: Loop) -> TileLoops | None:
    """Return the tile that begins at a loop; None if there is none.

    A tile has loops of reduced iterators first, then only unrolled or vectorized loops, around one statement.
    """
    loops: list[Loop] = []
    node: Node = loop
    while isinstance(node, Loop):
        if len(node.body) != 1 or (node.packs and loops):
            return None
        loops.append(node)
        (node,) = node.body
    reduced = nest.statements[node.statement].reduced
    outer = tuple(itertools.takewhile(lambda one: one.kind == "loop" and one.iterator in reduced, loops))
    if any(one.kind not in ("unroll", "vectorize") for one in loops[len(outer) :]):
        return None
    vector = next((one.iterator for one in loops if one.kind == "vectorize"), "")
    return TileLoops(node.statement, outer, vector)


def emitted_lines(tree: Tree, most: int) -> int:
    """Return the approximate lines of LLVM IR of a tree; the count stops soon after `most`.

    A loop with a tail has two bodies, and so may each loop inside. An unrolled loop has a body for each
    iteration, with all the loops inside. A vector of elements that are not contiguous is loaded and stored
    element by element.
    """
    return _lines(tree.nest, tree.roots, tree.nest.extents, "", most)


def _lines(nest: Nest, nodes: Sequence[Node], extents: Extents, vector: str, most: int) -> int:
    total = 0
    for node in nodes:
        if total > most:
            break
        if isinstance(node, Leaf):
            total += _lines_of(nest, node.statement, vector)
            continue
        full, tail = divmod(extents[node.iterator], node.step)
        if node.kind == "vectorize":
            inside = _lines(nest, node.body, {**extents, node.iterator: 1}, node.iterator, most)
            total += inside * -(-extents[node.iterator] // LANES)
            continue
        unrolled = node.kind == "unroll"
        total += len(node.packs) * COPY_LINES
        for size, count in ((node.step, full if unrolled else min(full, 1)), (tail, bool(tail))):
            if count and total <= most:
                inside = _lines(nest, node.body, {**extents, node.iterator: size}, vector, most)
                total += count * (inside + (0 if unrolled else LOOP_LINES))
    return total


def _lines_of(nest: Nest, number: int, vector: str) -> int:
    """Return the approximate lines of a statement for one value, or for one vector."""
    statement, moved = nest.statements[number], nest.moves[number]
    apart = sum(abs(strides.get(vector, 0)) > 2 for strides in moved) if vector else 0
    functions = FUNCTION_LINES * sum(str(statement.value).count(f"{name}(") for name in LONG)
    return statement.operations + functions + 2 * len(moved) + 2 * LANES * apart


def tile_extents(nest: Nest, loop: Loop, extents: Extents) -> dict[str, int]:
    """Return each iterator's extent in a whole tile below a loop; 1 if there is no tile."""
    inside = dict(extents)
    node: Node = loop
    while isinstance(node, Loop) and not tile_of(nest, node):
        inside[node.iterator] = min(inside[node.iterator], node.step)
        (node,) = node.body
    if isinstance(node, Leaf):
        return dict.fromkeys(inside, 1)
    return inside
