"""Register tiles: a statement's values for a box of iterators stay in registers during the reduction."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from burnish.tasks.loop_nests.lowering.code import Code
from burnish.tasks.loop_nests.lowering.functions import emit_expression
from burnish.tasks.loop_nests.lowering.layouts import Indices, Layouts
from burnish.tasks.loop_nests.nest import IDENTITIES, Access, Statement
from burnish.tasks.loop_nests.tiles import Extents

HELD = {64: 16, 32: 8, 16: 8}  # values held at a time, about half of the registers, by bytes of a vector


@dataclass(frozen=True)
class TileValue:
    """A value of a tile: its offsets in the box, and the number of used lanes (1: a scalar)."""

    offsets: Mapping[str, int]
    width: int


Loaded = dict[tuple[Access, tuple[int, ...], int], str]
"""Loaded values, by access, offsets and width."""


class Tile:
    """A statement's values for a box of its iterators."""

    def __init__(
        self, code: Code, layouts: Layouts, statement: Statement, vector: str, extents: Extents
    ) -> None:
        self.code, self.layouts = code, layouts
        self.statement = statement
        self.vector = vector
        self.reduces_vector = vector in statement.reduced
        self.parts = list(self._parts(statement.free, extents))
        if self.reduces_vector:
            self.parts = [TileValue(part.offsets, self.code.lanes) for part in self.parts]

    def begin(self, at: Indices, in_memory: bool) -> list[str]:
        """Return the initial values of a reduction: the identity, or the target's content if `in_memory`."""
        if in_memory and not self.reduces_vector:
            base = self.layouts.address(self.statement.target, at)
            return [self._load(self.statement.target, base, part) for part in self.parts]
        identity = IDENTITIES[self.statement.reduce]
        return [self.code.constant(identity, part.width) for part in self.parts]

    def body(self, extents: Extents, at: Indices, sums: list[str]) -> list[str]:
        """Return the values of a reduction after the unrolled iterations of a box."""
        bases = self._bases(at)
        for inner in self._parts(self.statement.reduced, extents):
            loaded: Loaded = {}
            sums = [
                self._added(total, part, inner, bases, loaded)
                for part, total in zip(self.parts, sums, strict=True)
            ]
        return sums

    def assign(self, at: Indices) -> None:
        """Compute and store the values of a statement without a reduction, in groups of HELD.

        LLVM does not move a load across a store that may alias it. Without groups, all values would be live
        before the first one is stored, which may be too many for the registers.
        """
        bases, base = self._bases(at), self.layouts.address(self.statement.target, at)
        held = HELD[self.code.lanes * self.code.itemsize]
        for first in range(0, len(self.parts), held):
            parts = self.parts[first : first + held]
            values = [self._value(bases, part, {}) for part in parts]
            for part, value in zip(parts, values, strict=True):
                self._store(value, base, part)

    def finish(self, at: Indices, sums: Sequence[str], in_memory: bool) -> None:
        """Store the values of a reduction."""
        base = self.layouts.address(self.statement.target, at)
        for part, value in zip(self.parts, sums, strict=True):
            one = part
            if self.reduces_vector:
                value, one = self.code.reduced(self.statement.reduce, value), TileValue(part.offsets, 1)
                if in_memory:
                    before = self._load(self.statement.target, base, one)
                    value = self.code.combined(self.statement.reduce, before, value, 1)
            self._store(value, base, one)

    def _store(self, value: str, base: str, part: TileValue) -> None:
        there = self.code.moved(base, self._offset(self.statement.target, part))
        step = self.layouts.steps(self.statement.target).get(self.vector, 1)
        self.code.store(value, there, part.width, step)

    def _bases(self, at: Indices) -> dict[Access, str]:
        return {access: self.layouts.address(access, at) for access in self.statement.accesses}

    def _added(
        self, total: str, part: TileValue, inner: TileValue, bases: Mapping[Access, str], loaded: Loaded
    ) -> str:
        width = inner.width if self.reduces_vector else part.width
        value = self._value(bases, TileValue({**part.offsets, **inner.offsets}, width), loaded)
        if self.reduces_vector:
            value = self.code.padded(value, width, IDENTITIES[self.statement.reduce])
            width = self.code.lanes
        return self.code.combined(self.statement.reduce, total, value, width)

    def _value(self, bases: Mapping[Access, str], part: TileValue, loaded: Loaded) -> str:
        def load(access: Access) -> str:
            key = access, tuple(part.offsets.get(name, 0) for name in access.iterators), part.width
            if key not in loaded:
                loaded[key] = self._load(access, bases[access], part)
            return loaded[key]

        return emit_expression(self.code, self.statement.value, part.width, load)

    def _load(self, access: Access, base: str, part: TileValue) -> str:
        there = self.code.moved(base, self._offset(access, part))
        step = self.layouts.steps(access).get(self.vector, 0) if part.width > 1 else 0
        return self.code.load(there, part.width, step)

    def _offset(self, access: Access, part: TileValue) -> int:
        steps = self.layouts.steps(access)
        return sum(step * part.offsets.get(name, 0) for name, step in steps.items())

    def _parts(self, names: Sequence[str], extents: Extents) -> Iterator[TileValue]:
        """Yield the points of a box, as vectors along the vectorized iterator."""
        lanes = self.code.lanes
        ranges = [range(0, extents[name], lanes if name == self.vector else 1) for name in names]
        for point in itertools.product(*ranges):
            offsets = dict(zip(names, point, strict=True))
            width = 1
            if self.vector in offsets:
                width = min(lanes, extents[self.vector] - offsets[self.vector])
            yield TileValue(offsets, width)
