"""Actions on a loop tree, and where each is legal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from burnish.core.action import Action
from burnish.tasks.loop_nests.collapsing import collapsed
from burnish.tasks.loop_nests.nest import Access, Statement
from burnish.tasks.loop_nests.tiles import LANES, tile_extents, tile_of
from burnish.tasks.loop_nests.tree import Leaf, Loop, Node, Place, Tree

FACTORS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024)
OPERANDS = 4  # the first ones that a statement reads can be packed
MOST_LOOPS = 16  # splits end there
MOST_VALUES = 256  # in one body: a register tile, and the unrolled loops around it
MOST_PACKED = 1 << 22  # elements of a copy

ACTIONS = (
    "up",
    "down",
    "swap_up",
    "swap_down",
    *(f"split({factor})" for factor in FACTORS),
    "merge",
    "collapse",
    "unroll",
    "vectorize",
    *(f"pack({operand})" for operand in range(OPERANDS)),
    "parallel",
    "fuse",
)
CURSOR = ("up", "down")  # they change no loop

Result = Tree | None
"""The tree after an action; None if the action is illegal."""


def apply(tree: Tree, text: str, place: Place) -> Result:
    """Return the tree after an action at a loop; None if the action is illegal there."""
    action = Action.parse(text)
    return _APPLY[action.kind](tree, place, *map(int, action.parameters))


def split(tree: Tree, place: Place, factor: int) -> Result:
    """Split a loop into two; the inner one has `factor` iterations."""
    loop = place.loop
    if loop.kind != "loop" or place.count <= factor or len(tree.places) >= MOST_LOOPS:
        return None
    inner = replace(loop, packs=())
    return _checked(tree.put(place.path, replace(loop, step=loop.step * factor, body=(inner,))))


def merge(tree: Tree, place: Place) -> Result:
    """Merge a loop with the only loop in its body, which must have the same iterator."""
    loop = place.loop
    match loop.body:
        case (Loop(iterator=loop.iterator, kind="loop", packs=()) as inner,) if loop.kind == "loop":
            return _checked(tree.put(place.path, replace(inner, packs=loop.packs)))
    return None


def collapse(tree: Tree, place: Place) -> Result:
    """Collapse a loop and the only loop in its body into one; their iterators must always occur together."""
    match place.loop.body:
        case (Loop() as inner,) if inner.iterator != place.loop.iterator:
            found = collapsed(tree.nest, place.loop.iterator, inner.iterator)
            if found:
                pair = place.loop.iterator, inner.iterator
                roots = _collapsed(tree.roots, *pair, found[1])
                return None if roots is None else Tree(found[0], roots)
    return None


def _collapsed(nodes: tuple[Node, ...], outer: str, inner: str, name: str) -> tuple[Node, ...] | None:
    """Return nodes with each `outer` loop and the `inner` loop directly in it as one; None if that fails."""
    made: list[Node] = []
    for node in nodes:
        if isinstance(node, Leaf):
            made.append(node)
            continue
        if node.iterator == inner:
            return None
        body = node.body
        if node.iterator == outer:
            below = body[0]
            if not (_is_untouched(node) and isinstance(below, Loop) and _is_untouched(below)):
                return None
            if below.iterator != inner or len(body) > 1:
                return None
            node, body = replace(node, iterator=name), below.body
        inside = _collapsed(body, outer, inner, name)
        if inside is None:
            return None
        made.append(replace(node, body=inside))
    return tuple(made)


def _is_untouched(loop: Loop) -> bool:
    return loop.step == 1 and loop.kind == "loop" and not loop.packs


def swap_down(tree: Tree, place: Place) -> Result:
    """Exchange a loop with the only loop in its body."""
    loop = place.loop
    match loop.body:
        case (Loop() as inner,) if inner.iterator != loop.iterator and not (loop.packs or inner.packs):
            if "parallel" in (loop.kind, inner.kind):
                return None
            return _checked(tree.put(place.path, replace(inner, body=(replace(loop, body=inner.body),))))
    return None


def swap_up(tree: Tree, place: Place) -> Result:
    """Exchange a loop with the one around it, whose body must have no other node."""
    if len(place.path) < 2 or len(tree.siblings(place.path)) > 1:
        return None
    outer = next(other for other in tree.places.values() if other.path == place.path[:-1])
    return swap_down(tree, outer)


def unroll(tree: Tree, place: Place) -> Result:
    """Unroll a loop: repeat its body for each iteration."""
    loop = place.loop
    if loop.kind != "loop" or loop.packs or place.count == 1:
        return None
    return _checked(tree.put(place.path, replace(loop, kind="unroll")))


def vectorize(tree: Tree, place: Place) -> Result:
    """Vectorize a loop's iterations; all loops in its body must be unrolled."""
    loop = place.loop
    if loop.kind != "loop" or loop.step != 1 or loop.packs or place.count == 1:
        return None
    return _checked(tree.put(place.path, replace(loop, kind="vectorize")))


def pack(tree: Tree, place: Place, operand: int) -> Result:
    """Copy the part of an operand that a loop reads, before the loop begins, in the order of the reads."""
    loop = place.loop
    leaves = tree.leaves(place.path)
    if loop.kind != "loop" or len(leaves) != 1:
        return None
    reads = tree.nest.statements[leaves[0]].accesses
    if operand >= len(reads):
        return None
    access = reads[operand]
    around = [*tree.above(place.path), loop]
    if any(access.tensor in other.packs for other in around) or any(
        access.tensor in below.packs for below in _below(loop)
    ):
        return None
    if not _is_plain(access) or access.tensor in tree.nest.written:
        return None
    inside = extents_at(tree, place)
    if math.prod(inside[name] for name in access.iterators) > MOST_PACKED:
        return None
    if sum(read.tensor == access.tensor for read in reads) > 1:
        return None
    return _checked(tree.put(place.path, replace(loop, packs=(*loop.packs, access.tensor))))


def parallel(tree: Tree, place: Place) -> Result:
    """Share the iterations of an outermost loop among threads."""
    loop = place.loop
    leaves = tree.leaves(place.path)
    if loop.kind != "loop" or loop.packs or len(place.path) > 1 or place.count == 1:
        return None
    if any(loop.iterator not in tree.nest.statements[leaf].free for leaf in leaves):
        return None
    return tree.put(place.path, replace(loop, kind="parallel"))


def fuse(tree: Tree, place: Place) -> Result:
    """Fuse a loop with the loop before it, if each iteration reads only what the same iteration wrote."""
    number = place.path[-1]
    if not number:
        return None
    before, loop = tree.siblings(place.path)[number - 1], place.loop
    if not isinstance(before, Loop) or before.kind != loop.kind != "vectorize" or loop.kind != "loop":
        return None
    if (before.iterator, before.step) != (loop.iterator, loop.step) or before.packs or loop.packs:
        return None
    path = (*place.path[:-1], number - 1)
    for later in tree.leaves(place.path):
        for earlier in tree.leaves(path):
            first, second = tree.nest.statements[earlier], tree.nest.statements[later]
            if not fuses(first, second, loop.iterator):
                return None
    return tree.put(path, replace(before, body=(*before.body, *loop.body)), count=2)


_APPLY: dict[str, Callable[..., Result]] = {
    function.__name__: function
    for function in (split, merge, collapse, swap_up, swap_down, unroll, vectorize, pack, parallel, fuse)
}


def extents_at(tree: Tree, place: Place) -> dict[str, int]:
    """Return each iterator's extent inside the loops around a loop."""
    extents = dict(tree.nest.extents)
    for loop in tree.above(place.path):
        extents[loop.iterator] = min(extents[loop.iterator], loop.step)
    return extents


def fuses(first: Statement, second: Statement, iterator: str) -> bool:
    """Return whether the second statement reads only what the same iteration of the first one wrote."""
    reads = [access for access in second.accesses if access.tensor == first.target.tensor]
    if not reads:
        return True
    if iterator not in first.free:
        return False
    dimension = first.target.iterators.index(iterator)
    return all(read.indices[dimension] == first.target.indices[dimension] for read in reads)


def _is_plain(access: Access) -> bool:
    """Return whether each index is one iterator, and no two indices have the same one."""
    plain = all(index.offset == 0 and [by for _, by in index.terms] == [1] for index in access.indices)
    return plain and len(access.iterators) == len(access.indices)


def _checked(tree: Tree) -> Result:
    """Return the tree if vectorized loops contain unrolled ones only, bodies are short, and copies fit."""
    extents = dict(tree.nest.extents)
    if not all(_values(root, extents) for root in tree.roots):
        return None
    packed = (place for place in tree.places.values() if place.loop.packs)
    return tree if all(_has_blocks(tree, place) for place in packed) else None


def _has_blocks(tree: Tree, place: Place) -> bool:
    """Return whether a loop with copies has whole tiles: its steps are multiples of the tile's extents.

    That includes the loops inside, down to the tile. Only free iterators of the copied operands count.
    """
    inner = tile_extents(tree.nest, place.loop, {**tree.nest.extents, **extents_at(tree, place)})
    (number,) = tree.leaves(place.path)
    statement = tree.nest.statements[number]
    names = {
        name
        for access in statement.accesses
        if access.tensor in place.loop.packs
        for name in access.iterators
        if name in statement.free
    }
    node: Node = place.loop
    while isinstance(node, Loop) and not tile_of(tree.nest, node):
        if node.iterator in names and node.step % inner[node.iterator]:
            return False
        (node,) = node.body
    return True


def _values(node: Node, extents: dict[str, int]) -> int:
    """Return the number of values that a node computes in one body, 1 for a loop; 0 if that is illegal."""
    if isinstance(node, Leaf):
        return 1
    count = -(-extents[node.iterator] // node.step)
    inside = {**extents, node.iterator: min(node.step, extents[node.iterator])}
    below = [_values(child, inside) for child in node.body]
    if not all(below):
        return 0
    static = all(_is_static(child) for child in node.body)
    if node.kind == "vectorize" and (not static or len(below) > 1 or _has_vector(node.body[0])):
        return 0
    if node.kind not in ("unroll", "vectorize"):
        return 1
    values = sum(below) * (-(-count // LANES) if node.kind == "vectorize" else count)
    return values if values <= MOST_VALUES else 0


def _is_static(node: Node) -> bool:
    """Return whether all loops of a node are unrolled or vectorized."""
    if isinstance(node, Leaf):
        return True
    return node.kind in ("unroll", "vectorize") and all(map(_is_static, node.body))


def _has_vector(node: Node) -> bool:
    return isinstance(node, Loop) and (node.kind == "vectorize" or any(map(_has_vector, node.body)))


def _below(loop: Loop) -> list[Loop]:
    found = []
    for child in loop.body:
        if isinstance(child, Loop):
            found += [child, *_below(child)]
    return found
