"""Legal actions at all loops of a tree, mostly without building the trees that the actions lead to.

Most rules of actions.apply need only the loop and a summary of each node (BodyPart). actions.apply itself
decides about collapse, pack, parallel and fuse, and about all other actions if something is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from burnish.core.action import Action
from burnish.tasks.loop_nests.actions import (
    ACTIONS,
    CURSOR,
    MOST_LOOPS,
    MOST_VALUES,
    apply,
)
from burnish.tasks.loop_nests.tiles import LANES
from burnish.tasks.loop_nests.tree import Leaf, Loop, Node, Path, Place, Tree


class BodyPart(NamedTuple):
    """A summary of a node in a loop's body."""

    leaves: int  # statements inside
    values: int  # that the node computes in one body; 1 for a loop
    static: bool  # all its loops are unrolled or vectorized
    vectors: bool  # it has a vectorized loop
    packs: bool  # it has copies


class Legality:
    """Legal actions in one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.bodies: dict[Path, BodyPart] = {}
        for number, root in enumerate(tree.roots):
            self._note(root, (number,))

    def at(self, place: Place) -> list[bool]:
        """Return whether each of ACTIONS is legal at a loop; those of CURSOR are not."""
        packed = self.bodies[place.path[:1]].packs
        mask = []
        for text, rule, numbers in _RULES_OF_ACTIONS:
            may = rule is not None and rule(self, place, *numbers)
            if may and (packed or rule is Legality._pack):
                may = apply(self.tree, text, place) is not None
            mask.append(may)
        return mask

    def _split(self, place: Place, factor: int) -> bool:
        return place.loop.kind == "loop" and place.count > factor and len(self.tree.places) < MOST_LOOPS

    def _merge(self, place: Place) -> bool:
        loop, inner = place.loop, _only(place.loop)
        if inner is None or inner.iterator != loop.iterator or inner.packs:
            return False
        return loop.kind == inner.kind == "loop"

    def _collapse(self, place: Place) -> bool:
        inner = _only(place.loop)
        if inner is None or inner.iterator == place.loop.iterator or place.loop.step != 1:
            return False
        return inner.step == 1 and apply(self.tree, "collapse", place) is not None

    def _swap_down(self, place: Place) -> bool:
        loop, inner = place.loop, _only(place.loop)
        if inner is None or inner.iterator == loop.iterator or loop.packs or inner.packs:
            return False
        if "parallel" in (loop.kind, inner.kind):
            return False
        if inner.kind == "vectorize" and loop.kind != "unroll":
            return False  # the vectorized loop would contain a loop
        if loop.kind == "vectorize" and len(inner.body) > 1:
            return False
        path = (*place.path, 0)
        below = _values(loop.kind, self._below(path, inner), place.count)
        values = _values(inner.kind, below, self.tree.by_path[path].count)
        return below <= MOST_VALUES and self._fits(place.path, values)

    def _swap_up(self, place: Place) -> bool:
        outer = self.tree.by_path.get(place.path[:-1])
        return outer is not None and self._swap_down(outer)

    def _unroll(self, place: Place) -> bool:
        loop = place.loop
        if loop.kind != "loop" or loop.packs or place.count == 1:
            return False
        return self._fits(place.path, _values("unroll", self._below(place.path, loop), place.count))

    def _vectorize(self, place: Place) -> bool:
        loop = place.loop
        if loop.kind != "loop" or loop.step != 1 or loop.packs or place.count == 1 or len(loop.body) > 1:
            return False
        below = self.bodies[(*place.path, 0)]
        if not below.static or below.vectors:
            return False
        return self._fits(place.path, _values("vectorize", below.values, place.count))

    def _pack(self, place: Place, operand: int) -> bool:
        if place.loop.kind != "loop" or self.bodies[place.path].leaves != 1:
            return False
        (statement,) = self.tree.leaves(place.path)
        return operand < len(self.tree.nest.statements[statement].accesses)

    def _parallel(self, place: Place) -> bool:
        if len(place.path) > 1 or place.loop.kind != "loop" or place.loop.packs or place.count == 1:
            return False
        return apply(self.tree, "parallel", place) is not None

    def _fuse(self, place: Place) -> bool:
        before = self.tree.by_path.get((*place.path[:-1], place.path[-1] - 1))
        if before is None or before.loop.iterator != place.loop.iterator:
            return False
        return apply(self.tree, "fuse", place) is not None

    def _note(self, node: Node, path: Path) -> BodyPart:
        """Store the summaries of a node and of all nodes inside; return the node's."""
        if isinstance(node, Leaf):
            body = BodyPart(1, 1, True, False, False)
        else:
            below = [self._note(child, (*path, i)) for i, child in enumerate(node.body)]
            values = sum(child.values for child in below)
            body = BodyPart(
                sum(child.leaves for child in below),
                _values(node.kind, values, self.tree.by_path[path].count),
                node.kind in ("unroll", "vectorize") and all(child.static for child in below),
                node.kind == "vectorize" or any(child.vectors for child in below),
                bool(node.packs) or any(child.packs for child in below),
            )
        self.bodies[path] = body
        return body

    def _below(self, path: Path, loop: Loop) -> int:
        """Return the number of values that the body of a loop computes."""
        return sum(self.bodies[(*path, i)].values for i in range(len(loop.body)))

    def _fits(self, path: Path, values: int) -> bool:
        """Return whether no body is too long if the node at a path computes a number of values.

        Unrolled and vectorized loops around the node repeat its values.
        """
        while values <= MOST_VALUES:
            outer = self.tree.by_path.get(path[:-1])
            if outer is None or outer.loop.kind not in ("unroll", "vectorize"):
                return True
            below = self._below(outer.path, outer.loop) - self.bodies[path].values + values
            path, values = outer.path, _values(outer.loop.kind, below, outer.count)
        return False


def _only(loop: Loop) -> Loop | None:
    """Return the loop that is a loop's whole body; None if the body is something else."""
    return loop.body[0] if len(loop.body) == 1 and isinstance(loop.body[0], Loop) else None


def _values(kind: str, below: int, count: int) -> int:
    if kind == "unroll":
        return below * count
    return below * -(-count // LANES) if kind == "vectorize" else 1


Rule = Callable[..., bool]
_RULES: dict[str, Rule] = {
    "split": Legality._split,
    "merge": Legality._merge,
    "collapse": Legality._collapse,
    "swap_up": Legality._swap_up,
    "swap_down": Legality._swap_down,
    "unroll": Legality._unroll,
    "vectorize": Legality._vectorize,
    "pack": Legality._pack,
    "parallel": Legality._parallel,
    "fuse": Legality._fuse,
}


def _rule(text: str) -> tuple[str, Rule | None, tuple[int, ...]]:
    action = Action.parse(text)
    return text, None if text in CURSOR else _RULES[action.kind], tuple(map(int, action.parameters))


_RULES_OF_ACTIONS = tuple(map(_rule, ACTIONS))
