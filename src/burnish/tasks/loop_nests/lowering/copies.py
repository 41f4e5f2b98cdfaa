"""Copies of parts of tensors, in the order in which tiles read them (Goto and van de Geijn 2008)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from burnish.tasks.loop_nests.lowering.code import Code
from burnish.tasks.loop_nests.lowering.layouts import Indices, Layout, Layouts
from burnish.tasks.loop_nests.nest import Access
from burnish.tasks.loop_nests.tiles import Extents, tile_extents
from burnish.tasks.loop_nests.tree import Loop, leaves_of


def pack(layouts: Layouts, loop: Loop, tensor: str, extents: Extents, at: Indices) -> Layout:
    """Emit a copy of the part of a tensor that a loop reads; return the layout of the copy.

    The order, outermost first: blocks of the free iterators, the reduced iterators, the values of a block.
    """
    nest = layouts.nest
    (number,) = leaves_of(loop)
    statement = nest.statements[number]
    (access,) = (read for read in statement.accesses if read.tensor == tensor)
    inner = tile_extents(nest, loop, extents)
    free = [name for name in access.iterators if name in statement.free]
    reduced = [name for name in access.iterators if name not in statement.free]
    size, steps, blocks = 1, {}, {}
    for name in reversed(free):
        steps[name] = size
        size *= inner[name]
    for name in reversed(reduced):
        steps[name] = size
        size *= extents[name]
    for name in reversed(free):
        blocks[name] = inner[name], size
        size *= -(-extents[name] // inner[name])
    there = Layout(layouts.scratch(size), steps, blocks, origin={name: at[name] for name in access.iterators})
    here = layouts.of(access).steps
    _Copy(layouts.code, extents, here, there).emit(
        [*free[:-1], *reduced, *free[-1:]], layouts.address(access, at), there.base
    )
    return there


class _Copy:
    def __init__(self, code: Code, extents: Extents, here: Mapping[str, int], there: Layout) -> None:
        self.code, self.extents, self.here, self.there = code, extents, here, there

    def emit(self, left: Sequence[str], source: str, target: str) -> None:
        """Emit the loops over the remaining iterators."""
        if not left:
            value = self.code.load(source, 1, 0)
            self.code.store(value, target, 1)
            return
        name, rest = left[0], left[1:]
        here, there = self.here[name], self.there.steps[name]
        if name not in self.there.blocks:
            self._repeat(self.extents[name], (source, here), (target, there), rest)
            return
        size, block = self.there.blocks[name]
        full, tail = divmod(self.extents[name], size)

        def inside(count: int) -> Callable[[str, str], None]:
            return lambda source, target: self._values(count, (source, here), (target, there), rest)

        if full:
            self._each(full, (source, here * size), (target, block), inside(size))
        if tail:
            inside(tail)(self.code.moved(source, full * here * size), self.code.moved(target, full * block))

    def _values(
        self, count: int, source: tuple[str, int], target: tuple[str, int], rest: Sequence[str]
    ) -> None:
        """Copy the values of one block, as vectors if they are contiguous in source and target."""
        if rest or (source[1], target[1]) != (1, 1):
            self._repeat(count, source, target, rest)
            return
        lanes = self.code.lanes
        whole, left = divmod(count, lanes)

        def vector(source: str, target: str) -> None:
            self.code.store(self.code.load(source, lanes, 1), target, lanes)

        if whole:
            self._each(whole, (source[0], lanes), (target[0], lanes), vector)
        if left:
            here, there = (self.code.moved(pointer, whole * lanes) for pointer in (source[0], target[0]))
            self.code.store(self.code.load(here, left, 1), there, left)

    def _repeat(
        self, count: int, source: tuple[str, int], target: tuple[str, int], rest: Sequence[str]
    ) -> None:
        self._each(count, source, target, lambda here, there: self.emit(rest, here, there))

    def _each(
        self, count: int, source: tuple[str, int], target: tuple[str, int], body: Callable[[str, str], None]
    ) -> None:
        def one(value: str) -> None:
            body(*(self.code.pointer(base, [(value, step)]) for base, step in (source, target)))

        self.code.repeat(count, one)


def fill(layouts: Layouts, target: Access, number: float, extents: Extents, at: Indices) -> None:
    """Emit stores of a constant to all elements of a target in a box."""
    code, steps = layouts.code, layouts.steps(target)
    names = sorted(target.iterators, key=lambda name: -steps[name])
    last = names[-1] if names and steps[names[-1]] == 1 else ""
    outer = [name for name in names if name != last]

    def inside(left: Sequence[str], base: str) -> None:
        if left:
            name, rest = left[0], left[1:]
            code.repeat(extents[name], lambda value: inside(rest, code.pointer(base, [(value, steps[name])])))
            return
        whole, rest_width = divmod(extents[last], code.lanes) if last else (0, 1)
        vector = code.constant(number, 2)
        if whole:
            code.repeat(
                whole,
                lambda value: code.store(vector, code.pointer(base, [(value, code.lanes)]), code.lanes),
            )
        if rest_width:
            there = code.moved(base, whole * code.lanes)
            code.store(code.constant(number, rest_width), there, rest_width)

    inside(outer, layouts.address(target, at))
