"""Actions on a loop tree, and where each is legal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from burnish.core.action import Action
from burnish.tasks.loop_nests.nest import Access, Affine, Call, Expression, Nest, Statement
from burnish.tasks.loop_nests.tiles import tile_extents, tile_of
from burnish.tasks.loop_nests.tree import Leaf, Loop, Node, Path, Place, Tree, values_of

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

DESCRIPTIONS = {
    "up": "Move the cursor to the loop before",
    "down": "Move the cursor to the loop after",
    "swap_up": "Exchange the loop with the one around it",
    "swap_down": "Exchange the loop with the one in its body",
    "split": "Split the loop into two; the inner one has {0} iterations",
    "merge": "Merge the loop with that of the same iterator in its body, or else around it; undoes a split",
    "collapse": "Make one loop of the loop and the one in its body",
    "unroll": "Repeat the loop's body for each iteration",
    "vectorize": "Run the loop's iterations as vector instructions",
    "pack": "Copy operand {0}'s part that the loop reads, in the order of the reads, before the loop",
    "parallel": "Share the loop's iterations among threads",
    "fuse": "Join the loop with the loop before it",
}

Result = Tree | None
"""The tree after an action; None if the action is illegal."""

Change = Callable[[], Result] | None
"""A function that builds the tree after an action; None if the action is illegal.

The function returns None if a loop with copies would have no whole tiles.
"""


def apply(tree: Tree, text: str, place: Place) -> Result:
    """Return the tree after an action at a loop; None if the action is illegal there, or does not exist."""
    change = _change(tree, text, place)
    return change() if change else None


def legal_actions(tree: Tree, place: Place) -> list[bool]:
    """Return whether each of ACTIONS is legal at a loop; those of CURSOR are not.

    Trees are built only where copies decide.
    """
    packed = tree.bodies[place.path[:1]].packs
    mask = []
    for text in ACTIONS:
        change = _change(tree, text, place)
        decided = change is None or not (packed or text.startswith("pack"))
        mask.append(change is not None and (decided or change() is not None))
    return mask


def _change(tree: Tree, text: str, place: Place) -> Change:
    found = _CHANGES.get(text)
    return found[0](tree, place, *found[1]) if found else None


def split(tree: Tree, place: Place, factor: int) -> Change:
    """Split a loop into two; the inner one has `factor` iterations."""
    loop = place.loop
    if loop.kind != "loop" or place.count <= factor or len(tree.places) >= MOST_LOOPS:
        return None
    outer = replace(loop, step=loop.step * factor, body=(replace(loop, packs=()),))
    return lambda: _checked(tree.put(place.path, outer))


def merge(tree: Tree, place: Place) -> Change:
    """Merge a loop with one of the same iterator: the only loop in its body, or else one around it."""
    loop, inner = place.loop, _only(place.loop)
    if inner is None or inner.iterator != loop.iterator:
        return _merge_up(tree, place)
    if inner.packs or not loop.kind == inner.kind == "loop":
        return None
    return lambda: _checked(tree.put(place.path, replace(inner, packs=loop.packs)))


def _merge_up(tree: Tree, place: Place) -> Change:
    """Merge a loop with the nearest one of its iterator around it, which keeps its place, as in LoopTool.

    The same as `swap_up` until the loops are next to each other, then `merge` of the outer one: only plain
    loops without copies may be between them, each the only node in its loop.
    """
    path = merged_into(tree, place)
    if path is None or not tree.at(path).kind == place.loop.kind == "loop" or place.loop.packs:
        return None
    outer, between = (
        tree.at(path),
        [tree.at(place.path[:depth]) for depth in range(len(path) + 1, len(place.path))],
    )
    if len(outer.body) > 1 or any(one.kind != "loop" or one.packs or len(one.body) > 1 for one in between):
        return None
    body = place.loop.body
    for one in reversed(between):
        body = (replace(one, body=body),)
    return lambda: _checked(tree.put(path, replace(outer, step=place.loop.step, body=body)))


def merged_into(tree: Tree, place: Place) -> Path | None:
    """Return the path of the loop around a loop with which `merge` merges it; None without such a loop."""
    inner = _only(place.loop)
    if inner is not None and inner.iterator == place.loop.iterator:
        return None
    around = (place.path[:depth] for depth in range(len(place.path) - 1, 0, -1))
    return next((path for path in around if tree.at(path).iterator == place.loop.iterator), None)


def collapse(tree: Tree, place: Place) -> Change:
    """Collapse a loop and the only loop in its body into one; their iterators must always occur together."""
    loop, inner = place.loop, _only(place.loop)
    if inner is None or inner.iterator == loop.iterator or not (_is_untouched(loop) and _is_untouched(inner)):
        return None
    found = collapsed(tree.nest, loop.iterator, inner.iterator)
    roots = _collapsed_loops(tree.roots, loop.iterator, inner.iterator, found[1]) if found else None
    return None if found is None or roots is None else lambda: Tree(found[0], roots)


def _collapsed_loops(nodes: tuple[Node, ...], outer: str, inner: str, name: str) -> tuple[Node, ...] | None:
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
            below = _only(node)
            if below is None or below.iterator != inner or not (_is_untouched(node) and _is_untouched(below)):
                return None
            node, body = replace(node, iterator=name), below.body
        inside = _collapsed_loops(body, outer, inner, name)
        if inside is None:
            return None
        made.append(replace(node, body=inside))
    return tuple(made)


def _is_untouched(loop: Loop) -> bool:
    return loop.step == 1 and loop.kind == "loop" and not loop.packs


def swap_down(tree: Tree, place: Place) -> Change:
    """Exchange a loop with the only loop in its body."""
    loop, inner = place.loop, _only(place.loop)
    if inner is None or inner.iterator == loop.iterator or loop.packs or inner.packs:
        return None
    if "parallel" in (loop.kind, inner.kind):
        return None
    if inner.kind == "vectorize" and loop.kind != "unroll":
        return None  # the vectorized loop would contain a loop
    if loop.kind == "vectorize" and len(inner.body) > 1:
        return None
    path = (*place.path, 0)
    below = values_of(loop.kind, tree.values_below(path), place.count)
    values = values_of(inner.kind, below, tree.by_path[path].count)
    if below > MOST_VALUES or not _fits(tree, place.path, values):
        return None
    swapped = replace(inner, body=(replace(loop, body=inner.body),))
    return lambda: _checked(tree.put(place.path, swapped))


def swap_up(tree: Tree, place: Place) -> Change:
    """Exchange a loop with the one around it, whose body must have no other node."""
    outer = tree.by_path.get(place.path[:-1])
    return swap_down(tree, outer) if outer else None


def unroll(tree: Tree, place: Place) -> Change:
    """Unroll a loop: repeat its body for each iteration."""
    loop = place.loop
    if loop.kind != "loop" or loop.packs or place.count == 1:
        return None
    if not _fits(tree, place.path, values_of("unroll", tree.values_below(place.path), place.count)):
        return None
    return lambda: _checked(tree.put(place.path, replace(loop, kind="unroll")))


def vectorize(tree: Tree, place: Place) -> Change:
    """Vectorize a loop's iterations; all loops in its body must be unrolled."""
    loop = place.loop
    if loop.kind != "loop" or loop.step != 1 or loop.packs or place.count == 1 or len(loop.body) > 1:
        return None
    below = tree.bodies[(*place.path, 0)]
    if not below.static or below.vectors:
        return None
    if not _fits(tree, place.path, values_of("vectorize", below.values, place.count)):
        return None
    return lambda: _checked(tree.put(place.path, replace(loop, kind="vectorize")))


def pack(tree: Tree, place: Place, operand: int) -> Change:
    """Copy the part of an operand that a loop reads, before the loop begins, in the order of the reads."""
    loop = place.loop
    leaves = tree.leaves(place.path)
    if loop.kind != "loop" or len(leaves) != 1:
        return None
    reads = tree.nest.statements[leaves[0]].accesses
    if operand >= len(reads):
        return None
    access = reads[operand]
    if not _is_plain(access) or access.tensor in tree.nest.written:
        return None
    if sum(read.tensor == access.tensor for read in reads) > 1:
        return None
    for other in tree.places.values():  # above and below
        near = all(one == two for one, two in zip(other.path, place.path, strict=False))
        if near and access.tensor in other.loop.packs:
            return None
    inside = extents_at(tree, place)
    if math.prod(inside[name] for name in access.iterators) > MOST_PACKED:
        return None
    return lambda: _checked(tree.put(place.path, replace(loop, packs=(*loop.packs, access.tensor))))


def parallel(tree: Tree, place: Place) -> Change:
    """Share the iterations of an outermost loop among threads."""
    loop = place.loop
    if loop.kind != "loop" or loop.packs or len(place.path) > 1 or place.count == 1:
        return None
    if any(loop.iterator not in tree.nest.statements[leaf].free for leaf in tree.leaves(place.path)):
        return None
    return lambda: tree.put(place.path, replace(loop, kind="parallel"))


def fuse(tree: Tree, place: Place) -> Change:
    """Fuse a loop with the loop before it, if each iteration reads only what the same iteration wrote."""
    path = (*place.path[:-1], place.path[-1] - 1)
    if path not in tree.by_path:
        return None
    before, loop = tree.at(path), place.loop
    if not before.kind == loop.kind == "loop" or before.packs or loop.packs:
        return None
    if (before.iterator, before.step) != (loop.iterator, loop.step):
        return None
    for later in tree.leaves(place.path):
        for earlier in tree.leaves(path):
            first, second = tree.nest.statements[earlier], tree.nest.statements[later]
            if not fuses(first, second, loop.iterator):
                return None
    return lambda: tree.put(path, replace(before, body=(*before.body, *loop.body)), count=2)


_FUNCTIONS: dict[str, Callable[..., Change]] = {
    function.__name__: function
    for function in (split, merge, collapse, swap_up, swap_down, unroll, vectorize, pack, parallel, fuse)
}
_CHANGES = {
    text: (_FUNCTIONS[action.kind], tuple(map(int, action.parameters)))
    for text, action in ((text, Action.parse(text)) for text in ACTIONS if text not in CURSOR)
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


def _only(loop: Loop) -> Loop | None:
    """Return the loop that is a loop's whole body; None if the body is something else."""
    return loop.body[0] if len(loop.body) == 1 and isinstance(loop.body[0], Loop) else None


def _fits(tree: Tree, path: Path, values: int) -> bool:
    """Return whether no body is too long if the node at a path computes a number of values.

    Unrolled and vectorized loops around the node repeat its values.
    """
    while values <= MOST_VALUES:
        outer = tree.by_path.get(path[:-1])
        if outer is None or outer.loop.kind not in ("unroll", "vectorize"):
            return True
        below = tree.values_below(outer.path) - tree.bodies[path].values + values
        path, values = outer.path, values_of(outer.loop.kind, below, outer.count)
    return False


def _checked(tree: Tree) -> Result:
    """Return the tree if each loop with copies has whole tiles: its steps are multiples of their extents.

    That includes the loops inside, down to the tile. Only free iterators of the copied operands count.
    """
    for place in tree.places.values():
        if not place.loop.packs:
            continue
        inner = tile_extents(tree.nest, place.loop, {**tree.nest.extents, **extents_at(tree, place)})
        (number,) = tree.leaves(place.path)
        statement = tree.nest.statements[number]
        copied = [access for access in statement.accesses if access.tensor in place.loop.packs]
        names = {name for access in copied for name in access.iterators if name in statement.free}
        node: Node = place.loop
        while isinstance(node, Loop) and not tile_of(tree.nest, node):
            if node.iterator in names and node.step % inner[node.iterator]:
                return None
            (node,) = node.body
    return tree


def collapsed(nest: Nest, outer: str, inner: str) -> tuple[Nest, str] | None:
    """Return the nest with one iterator for two, and its name; None if they do not always occur together.

    A contraction of many indices becomes a product; OpenMP calls this `collapse`. The memory layout stays:
    [.., i, j, ..] in C order is [.., i * J + j, ..]. Each access must have neither iterator, or both as
    adjacent plain indices; the tensor's extent in the second dimension must be that of the inner iterator.
    """
    for one in nest.statements:
        for access in (one.target, *one.accesses):
            used = [
                number for number, index in enumerate(access.indices) if index.at(outer) or index.at(inner)
            ]
            if not used:
                continue
            both = access.indices[used[0] : used[0] + 2]
            whole = nest.shapes[access.tensor][used[0] + 1 : used[0] + 2] == (nest.extents[inner],)
            if len(used) != 2 or both != (Affine(((outer, 1),)), Affine(((inner, 1),))) or not whole:
                return None
    name = outer + inner
    while name in nest.extents:
        name += "_"
    extents = {}
    for known, extent in nest.extents.items():
        if known == outer:
            extents[name] = extent * nest.extents[inner]
        elif known != inner:
            extents[known] = extent

    def renamed(access: Access) -> Access:
        indices = [index for index in access.indices if not index.at(inner)]
        plain = Affine(((name, 1),))
        return replace(access, indices=tuple(plain if index.at(outer) else index for index in indices))

    def renamed_all(value: Expression) -> Expression:
        match value:
            case Access():
                return renamed(value)
            case Call(function, arguments):
                return Call(function, tuple(map(renamed_all, arguments)))
        return value

    statements = tuple(
        Statement(renamed(one.target), one.reduce, renamed_all(one.value)) for one in nest.statements
    )
    return replace(nest, statements=statements, extents=extents), name
