"""Structured random schedules: register tiles, cache blocks, copies, fused statements.

Uniformly drawn actions seldom make a tile. A sketch fixes the structure of a schedule, as in Ansor (Zheng et
al. 2020, arXiv:2006.06762). `trace_of` returns the actions that turn the naive nest into a sketch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from burnish.core.trace import Trace, entry
from burnish.tasks.loop_nests.actions import apply
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.tiles import MOST_LINES, emitted_lines
from burnish.tasks.loop_nests.tree import Kind, Loop, Place, Tree, naive


class Level(NamedTuple):  # fast: a policy makes and compares hundreds of sketches in a tenth of a second
    """A loop of a sketch."""

    iterator: str
    step: int
    kind: Kind = "loop"
    packs: tuple[str, ...] = ()


class Sketch(NamedTuple):
    """The loops of each statement, and the number of outer loops that it shares with the statement before."""

    loops: tuple[tuple[Level, ...], ...]
    shared: tuple[int, ...]  # 0 for the first


def simplified(nest: Nest) -> tuple[Trace, Nest]:
    """Return the actions that collapse a nest to as few iterators as possible, and that nest."""
    tree, trace = naive(nest), []
    while True:
        for place in tree.places.values():
            after = apply(tree, "collapse", place)
            if after is not None and after == naive(after.nest):
                tree = after
                trace.append(entry("collapse", place.name))
                break
        else:
            return tuple(trace), tree.nest


def without_idle_copies(nest: Nest, sketch: Sketch) -> Sketch:
    """Return a sketch without copies of data that is read once, because the copy itself reads the data."""
    if not any(level.packs for loops in sketch.loops for level in loops):
        return sketch
    changed = []
    for statement, loops in zip(nest.statements, sketch.loops, strict=True):
        extents = {name: nest.extents[name] for name in statement.iterators}
        left = []
        for level in loops:
            read_again = {
                access.tensor
                for access in statement.accesses
                if any(size > 1 and name not in access.iterators for name, size in extents.items())
            }
            left.append(level._replace(packs=tuple(name for name in level.packs if name in read_again)))
            extents[level.iterator] = min(extents[level.iterator], level.step)
        changed.append(tuple(left))
    return sketch._replace(loops=tuple(changed))


def trace_of(nest: Nest, sketch: Sketch) -> tuple[Trace, Tree] | None:
    """Return the actions that turn the naive nest into a sketch, and the tree.

    None if an action is illegal, or if the code is too long to compile.
    """
    walk = _Walk(naive(nest))
    for number, loops in enumerate(sketch.loops):
        if not _schedule(walk, number, loops):
            return None
    for number, shared in enumerate(sketch.shared):
        for depth in range(shared):
            if not walk.act(number, depth, "fuse"):
                return None
    if emitted_lines(walk.tree, MOST_LINES) > MOST_LINES:
        return None
    return tuple(walk.trace), walk.tree


def _schedule(walk: _Walk, number: int, loops: Sequence[Level]) -> bool:
    """Split, order, and annotate a statement's loops, before any are fused; return whether that is legal."""
    for iterator in walk.tree.nest.statements[number].iterators:
        steps = [level.step for level in loops if level.iterator == iterator]
        inner = 1
        for step in reversed(steps[:-1]):
            known = [(loop.iterator, loop.step) for loop in walk.loops(number)]
            if step % inner or not walk.act(
                number, known.index((iterator, inner)), f"split({step // inner})"
            ):
                return False
            inner = step
    wanted = {(level.iterator, level.step): i for i, level in enumerate(loops)}
    if len(wanted) != len(loops):
        return False
    for end in range(len(loops) - 1, 0, -1):  # bubble sort: a swap for each pair out of order
        for depth in range(end):
            one, two = walk.loops(number)[depth : depth + 2]
            if wanted[one.iterator, one.step] > wanted[two.iterator, two.step] and not walk.act(
                number, depth, "swap_down"
            ):
                return False
    for depth in range(len(loops) - 1, -1, -1):  # inner first: vectorized loops need unrolled ones
        if loops[depth].kind != "loop" and not walk.act(number, depth, loops[depth].kind):
            return False
    reads = [access.tensor for access in walk.tree.nest.statements[number].accesses]
    return all(
        walk.act(number, depth, f"pack({reads.index(tensor)})")
        for depth, level in enumerate(loops)
        for tensor in level.packs
    )


class _Walk:
    """A tree, and the actions that led to it from the naive tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.trace: list[str] = []

    def loops(self, number: int) -> list[Loop]:
        """Return the loops around a statement."""
        return [place.loop for place in self._places(number)]

    def act(self, number: int, depth: int, action: str) -> bool:
        """Apply an action to a loop around a statement, if it is legal; return whether it is."""
        place = self._places(number)[depth]
        after = apply(self.tree, action, place)
        if after is None:
            return False
        self.tree = after
        self.trace.append(entry(action, place.name))
        return True

    def _places(self, number: int) -> list[Place]:
        return [place for place in self.tree.places.values() if number in self.tree.leaves(place.path)]
