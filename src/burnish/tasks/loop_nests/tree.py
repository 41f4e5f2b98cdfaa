"""The loop tree: the order of a nest's iterations, and the kind of each loop."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from burnish.tasks.loop_nests.nest import Nest

LANES = 8  # lanes of a vector when values are counted: a constant, so that legality is the same everywhere

Kind = Literal["loop", "unroll", "vectorize", "parallel"]
Path = tuple[int, ...]
"""A node's position: its index among the tree's roots, then among the children of each loop."""


@dataclass(frozen=True)
class Leaf:
    """A statement, for one value of each iterator with a loop above."""

    statement: int


@dataclass(frozen=True)
class Loop:
    """A loop: each iteration covers `step` values of its iterator, or fewer in the tail."""

    iterator: str
    step: int
    body: tuple[Node, ...]
    kind: Kind = "loop"
    packs: tuple[str, ...] = ()  # tensors: the part that is read inside is copied before the loop


Node = Loop | Leaf


@dataclass(frozen=True)
class Place:
    """A loop in its tree."""

    name: str  # of the site: `k`, then `k.1` for the next loop of iterator k
    path: Path
    loop: Loop
    extent: int  # values of the iterator that the loop covers, at most

    @property
    def count(self) -> int:
        """The number of iterations, including a partial one."""
        return -(-self.extent // self.loop.step)

    @property
    def tail(self) -> int:
        """The number of values in the partial iteration; 0 without one."""
        return self.extent % self.loop.step


class Body(NamedTuple):
    """A summary of a node in a loop's body."""

    leaves: tuple[int, ...]  # statements inside
    values: int  # that the node computes in one body; 1 for a loop
    static: bool  # all its loops are unrolled or vectorized
    vectors: bool  # it has a vectorized loop
    packs: bool  # it has copies


@dataclass(frozen=True)
class Tree:
    """The loops of all statements, in the order of execution."""

    nest: Nest
    roots: tuple[Node, ...]

    @cached_property
    def places(self) -> dict[str, Place]:
        """The loops by name, outer loops before those inside."""
        found: dict[str, Place] = {}
        seen: Counter[str] = Counter()
        for path, loop, extents in _loops(self.roots, (), dict(self.nest.extents)):
            number = seen[loop.iterator]
            name = f"{loop.iterator}.{number}" if number else loop.iterator
            found[name] = Place(name, path, loop, extents[loop.iterator])
            seen[loop.iterator] += 1
        return found

    @cached_property
    def by_path(self) -> dict[Path, Place]:
        """The loops by path."""
        return {place.path: place for place in self.places.values()}

    @cached_property
    def bodies(self) -> dict[Path, Body]:
        """The summaries of all nodes by path."""
        found: dict[Path, Body] = {}

        def add(node: Node, path: Path) -> Body:
            if isinstance(node, Leaf):
                found[path] = Body((node.statement,), 1, True, False, False)
                return found[path]
            below = [add(child, (*path, i)) for i, child in enumerate(node.body)]
            found[path] = Body(
                tuple(itertools.chain.from_iterable(child.leaves for child in below)),
                values_of(node.kind, sum(child.values for child in below), self.by_path[path].count),
                node.kind in ("unroll", "vectorize") and all(child.static for child in below),
                node.kind == "vectorize" or any(child.vectors for child in below),
                bool(node.packs) or any(child.packs for child in below),
            )
            return found[path]

        for number, root in enumerate(self.roots):
            add(root, (number,))
        return found

    def at(self, path: Path) -> Loop:
        """Return the loop at a path."""
        return self.by_path[path].loop

    def above(self, path: Path) -> list[Loop]:
        """Return the loops around a node, the outermost first."""
        return [self.at(path[:depth]) for depth in range(1, len(path))]

    def put(self, path: Path, *nodes: Node, count: int = 1) -> Tree:
        """Return the tree with other nodes in place of `count` nodes, from the one at a path on."""
        return replace(self, roots=_put(self.roots, path, nodes, count))

    def leaves(self, path: Path) -> tuple[int, ...]:
        """Return the statements below a loop."""
        return self.bodies[path].leaves

    def values_below(self, path: Path) -> int:
        """Return the number of values that the body of a loop computes."""
        return sum(self.bodies[(*path, i)].values for i in range(len(self.at(path).body)))

    def __str__(self) -> str:
        """Return the tree as LoopTool prints it: a line per loop, with its whole iterations and its tail."""

        def lines(nodes: tuple[Node, ...], path: Path) -> Iterator[str]:
            indent = "  " * len(path)
            for number, node in enumerate(nodes):
                here = (*path, number)
                if isinstance(node, Leaf):
                    yield f"{indent}{self.nest.statements[node.statement]}"
                    continue
                place = self.by_path[here]
                count = f"{place.extent // node.step}" + (f" r {place.tail}" if place.tail else "")
                kind = "" if node.kind == "loop" else f" [{node.kind}]"
                packs = "".join(f" [pack {name}]" for name in node.packs)
                yield f"{indent}for {place.name} in {count}{kind}{packs}"
                yield from lines(node.body, here)

        return "\n".join(lines(self.roots, ()))


def values_of(kind: Kind, below: int, count: int) -> int:
    """Return the number of values that a loop of a kind computes in one body, from that of its own body."""
    if kind == "unroll":
        return below * count
    return below * -(-count // LANES) if kind == "vectorize" else 1


def naive(nest: Nest) -> Tree:
    """Return the naive tree: each statement in loops of its own, in the order of its iterators."""
    roots: list[Node] = []
    for number, statement in enumerate(nest.statements):
        node: Node = Leaf(number)
        for iterator in reversed(statement.iterators):
            node = Loop(iterator, 1, (node,))
        roots.append(node)
    return Tree(nest, tuple(roots))


def _loops(
    nodes: tuple[Node, ...], path: Path, extents: Mapping[str, int]
) -> Iterator[tuple[Path, Loop, Mapping[str, int]]]:
    for number, node in enumerate(nodes):
        if isinstance(node, Loop):
            here = (*path, number)
            yield here, node, extents
            inside = min(node.step, extents[node.iterator])
            yield from _loops(node.body, here, {**extents, node.iterator: inside})


def leaves_of(node: Node) -> tuple[int, ...]:
    """Return the statements in a node."""
    if isinstance(node, Leaf):
        return (node.statement,)
    return tuple(itertools.chain.from_iterable(map(leaves_of, node.body)))


def _put(nodes: tuple[Node, ...], path: Path, new: tuple[Node, ...], count: int) -> tuple[Node, ...]:
    first, rest = path[0], path[1:]
    if not rest:
        return (*nodes[:first], *new, *nodes[first + count :])
    loop = nodes[first]
    assert isinstance(loop, Loop)
    return (*nodes[:first], replace(loop, body=_put(loop.body, rest, new, count)), *nodes[first + 1 :])
