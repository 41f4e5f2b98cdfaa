"""Random sketches: vectors, sizes of tiles and blocks, orders, copies, shared loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from burnish.tasks.loop_nests.actions import FACTORS, OPERANDS, fuses
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.sketches import Level, Sketch, without_idle_copies

Rng = np.random.Generator
T = TypeVar("T")

REGISTERS = {64: 28, 32: 14, 16: 28}  # that a tile may fill, by the bytes of a vector
WIDEST = 8  # vectors in a row of a tile
TILE_FACTORS = (2, 3, 4, 6, 8, 12)  # extents in a tile of free iterators other than the vector's
SHORT = 8  # reductions up to this extent may be unrolled completely
BLOCKS = (2, 4, 8, 16, 32)  # tiles in a cache block, in one iterator
SHARING = 0.85  # share of statements that may share loops with the one before
DEPTHS = (32, 64, 128, 256, 512)  # extents of a reduction in a cache block


def draw(nest: Nest, vector_bytes: int, rng: Rng) -> Sketch:
    """Draw a sketch; it may be illegal.

    Args:
        nest: The nest to schedule.
        vector_bytes: The size of the machine's vectors.
        rng: The generator for all choices.
    """
    return draw_from(nest, Sketch((), ()), 0, vector_bytes, rng)


def draw_from(nest: Nest, sketch: Sketch, number: int, vector_bytes: int, rng: Rng) -> Sketch:
    """Draw the loops of a statement and of all later ones; the loops of earlier statements stay."""
    loops, shared = list(sketch.loops[:number]), list(sketch.shared[:number])
    for at in range(number, len(nest.statements)):
        common: tuple[Level, ...] = ()
        if at and rng.random() < SHARING:
            common = _common(nest, at, loops[-1], rng)
        shared.append(len(common))
        loops.append((*common, *_Draw(nest, at, vector_bytes, rng).loops(common)))
    return without_idle_copies(nest, Sketch(tuple(loops), tuple(shared)))


def _common(nest: Nest, number: int, before: tuple[Level, ...], rng: Rng) -> tuple[Level, ...]:
    """Draw the outer loops that a statement shares with the one before, from all that fuse."""
    most = 0
    for level in before:
        first, second = nest.statements[number - 1 : number + 1]
        fits = level.iterator in second.iterators and fuses(first, second, level.iterator)
        if level.kind != "loop" or level.packs or not fits:
            break
        most += 1
    return before[: int(rng.random() * (most + 1))] if rng.random() < 0.5 else before[:most]


class _Draw:
    """Draws the loops of one statement."""

    def __init__(self, nest: Nest, number: int, vector_bytes: int, rng: Rng) -> None:
        self.nest, self.statement, self.rng = nest, nest.statements[number], rng
        self.lanes, self.registers = vector_bytes // nest.itemsize, REGISTERS[vector_bytes]
        self.strides = nest.moves[number]

    def loops(self, common: Sequence[Level]) -> tuple[Level, ...]:
        """Draw the loops inside the shared ones."""
        statement, rng = self.statement, self.rng
        extents = {name: self.nest.extents[name] for name in statement.iterators}
        for level in common:
            extents[level.iterator] = min(extents[level.iterator], level.step)
        tile, vector = self._tile(extents)
        inside: list[Level] = []  # unrolled or vectorized, the vectorized loop last
        outside: list[Level] = []
        depth: list[Level] = []  # reductions in registers
        for name, extent in extents.items():
            step = tile.get(name, 1)
            done = any(level.iterator == name and level.step == 1 for level in common)
            if done:
                continue
            reduced = name in statement.reduced
            if step > 1:
                inside.append(Level(name, 1, "vectorize" if name == vector else "unroll"))
            if step >= extent > 1:
                continue
            if reduced:
                blocked = [size for size in DEPTHS if size < extent and size % step == 0]
                if blocked and rng.random() < 0.2:
                    size = pick(blocked, self.rng)
                    outside.append(Level(name, size))
                depth.append(Level(name, step))
            else:
                blocks = [by * step for by in BLOCKS if by * step < extent]
                outside.append(Level(name, step))
                if blocks and rng.random() < 0.25:
                    outside.append(Level(name, pick(blocks, self.rng)))
        inside.sort(key=lambda level: (level.kind == "vectorize", level.iterator not in statement.reduced))
        return (*self._packed(self._ordered(outside)), *self._shuffled(depth, 0.3), *inside)

    def _tile(self, extents: dict[str, int]) -> tuple[dict[str, int], str]:
        """Draw the extents of a tile, and the iterator that is vectorized ("" for none)."""
        rng, statement, lanes = self.rng, self.statement, self.lanes
        vector = self._vector(extents)
        budget = self.registers
        tile: dict[str, int] = {}
        if vector:
            reduces = vector in statement.reduced
            wide = [by for by in (1, 2, 3, 4, 6, 8) if by <= WIDEST]
            sizes = [by * lanes for by in wide if by * lanes in FACTORS and by * lanes < extents[vector]]
            if extents[vector] <= (8 if reduces else WIDEST) * lanes:
                sizes += [extents[vector]] * 2
            tile[vector] = pick(sizes, self.rng) if sizes else extents[vector]
            if not reduces:
                budget = max(1, budget // -(-tile[vector] // lanes))
        others = [name for name in statement.free if name != vector and extents[name] > 1]
        others.sort(key=lambda name: (-self._reuse(name), rng.random()))
        for name in others[:2]:
            sizes = [by for by in TILE_FACTORS if by <= budget and by < extents[name]]
            if extents[name] <= budget and extents[name] <= SHORT * 2:
                sizes.append(extents[name])
            if sizes and rng.random() < (0.85 if self._reuse(name) else 0.25):
                tile[name] = pick(sizes[len(sizes) // 2 :] if rng.random() < 0.6 else sizes, self.rng)
                budget = max(1, budget // tile[name])
        for name in statement.reduced:
            if name == vector or extents[name] == 1:
                continue
            if extents[name] <= SHORT and rng.random() < 0.6:
                tile[name] = extents[name]
            elif rng.random() < 0.35:
                sizes = [by for by in (2, 4, 8) if by < extents[name]]
                tile[name] = pick(sizes, self.rng) if sizes else 1
        return tile, vector

    def _vector(self, extents: dict[str, int]) -> str:
        """Draw the iterator to vectorize, mostly one along which elements are contiguous; seldom ""."""
        known: list[str] = []
        for name in self.statement.iterators:
            if extents[name] == 1:
                continue
            steps = [moved.get(name, 0) for moved in self.strides]
            if name in self.statement.free and steps[0] != 1:
                continue
            bad = sum(step not in (0, 1) for step in steps)
            known += [name] * (8 if not bad else 2 if bad == 1 else 1)
        if not known or self.rng.random() < 0.02:
            return ""
        return pick(known, self.rng)

    def _reuse(self, name: str) -> int:
        """Return the number of reads that do not depend on an iterator: a tile loads these once."""
        return sum(not moved.get(name, 0) for moved in self.strides[1:])

    def _ordered(self, levels: list[Level]) -> list[Level]:
        """Draw an order of loops; of two loops of an iterator, the one with the larger step comes first."""
        natural = {name: i for i, name in enumerate(self.statement.iterators)}
        if self.rng.random() < 0.4:
            order = sorted(levels, key=lambda level: natural[level.iterator])
        else:
            order = self._shuffled(levels, 1.0)
        places = {name: [i for i, one in enumerate(order) if one.iterator == name] for name in natural}
        result = list(order)
        for name, at in places.items():
            mine = sorted((one for one in order if one.iterator == name), key=lambda level: -level.step)
            for i, level in zip(at, mine, strict=True):
                result[i] = level
        return result

    def _packed(self, levels: list[Level]) -> list[Level]:
        """Draw the operands to copy, and the loops at which they are copied."""
        levels = list(levels)
        if not levels or not self.statement.reduce:
            return levels
        for access in self.statement.accesses[:OPERANDS]:
            if self.rng.random() < 0.22:
                at = int(self.rng.random() * len(levels))
                levels[at] = levels[at]._replace(packs=(*levels[at].packs, access.tensor))
        return levels

    def _shuffled(self, levels: list[Level], probability: float) -> list[Level]:
        if len(levels) > 1 and self.rng.random() < probability:
            return [levels[i] for i in self.rng.permutation(len(levels))]
        return levels


def pick(among: Sequence[T], rng: Rng) -> T:
    """Draw one item of a sequence, uniformly."""
    return among[int(rng.random() * len(among))]
