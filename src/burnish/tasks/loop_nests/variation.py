"""Variations of a sketch: another size, order, copy, block or unrolled loop, or statements drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from burnish.tasks.loop_nests.actions import FACTORS, OPERANDS
from burnish.tasks.loop_nests.drawing import WIDEST, draw_from, pick
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.sketches import Level, Sketch, without_idle_copies

Rng = np.random.Generator
Levels = list[Level]
REDRAWN = 0.15  # share of variations that draw all loops anew from some statement on
TRIES = 8  # to find a change that applies


def vary(nest: Nest, sketch: Sketch, vector_bytes: int, rng: Rng) -> Sketch:
    """Return a sketch with one or two changes; it may be illegal."""
    if rng.random() < REDRAWN:
        return draw_from(nest, sketch, int(rng.random() * len(sketch.loops)), vector_bytes, rng)
    for _ in range(1 + int(rng.random() * 2)):
        number = int(rng.random() * len(sketch.loops))
        following = sketch.shared[number + 1] if number + 1 < len(sketch.loops) else 0
        fixed = max(sketch.shared[number], following)
        levels = list(sketch.loops[number])
        for _ in range(TRIES):
            changed = pick(_CHANGES, rng)(nest, number, levels, fixed, rng)
            if changed is None or changed == levels:
                continue
            widest = 2 * WIDEST if nest.statements[number].reduce else WIDEST  # accumulators hide the latency
            if vectors_of_row(nest, changed, vector_bytes) <= widest:
                loops = list(sketch.loops)
                loops[number] = tuple(changed)
                sketch = sketch._replace(loops=tuple(loops))
                break
    return without_idle_copies(nest, sketch)


def vectors_of_row(nest: Nest, levels: Sequence[Level], vector_bytes: int) -> int:
    """Return the number of vectors of a statement's vectorized loop; 0 without one."""
    extents = dict(nest.extents)
    for level in levels:
        if level.kind == "vectorize":
            return -(-extents[level.iterator] * nest.itemsize // vector_bytes)
        extents[level.iterator] = min(extents[level.iterator], level.step)
    return 0


def _resize(nest: Nest, number: int, levels: Levels, fixed: int, rng: Rng) -> Levels | None:
    """Draw another ratio between the steps of two loops of an iterator."""
    where = [i for i in range(fixed, len(levels)) if levels[i].step > 1]
    if not where:
        return None
    at = pick(where, rng)
    name, step = levels[at].iterator, levels[at].step
    inner = next(level.step for level in levels[at + 1 :] if level.iterator == name)
    near = [factor for factor in FACTORS if 1 / 4 <= factor * inner / step <= 4]
    return _rescaled(nest, levels, at, pick(near, rng) * inner, fixed) if near else None


def _rescaled(nest: Nest, levels: Levels, at: int, step: int, fixed: int) -> Levels | None:
    """Return the loops with another step; outer loops of the iterator keep their ratios if they fit."""
    name, before = levels[at].iterator, levels[at].step
    changed = list(levels)
    for i, level in enumerate(levels[: at + 1]):
        if level.iterator == name:
            if i < fixed or level.step % before:
                return None
            changed[i] = level._replace(step=level.step // before * step)
    kept = [
        level
        for i, level in enumerate(changed)
        if level.iterator != name or level.step < nest.extents[name] or i > at
    ]
    return kept if any(level.iterator == name for level in kept) else None


def _exchange(nest: Nest, number: int, levels: Levels, fixed: int, rng: Rng) -> Levels | None:
    """Move a loop that is not unrolled or vectorized to another place among such loops."""
    plain = [i for i in range(fixed, len(levels)) if levels[i].kind == "loop"]
    if len(plain) < 2:
        return None
    at, to = pick(plain, rng), pick(plain, rng)
    changed = list(levels)
    changed.insert(to, changed.pop(at))
    steps = [level.step for level in changed if level.iterator == levels[at].iterator]
    return changed if steps == sorted(steps, reverse=True) else None


def _copy(nest: Nest, number: int, levels: Levels, fixed: int, rng: Rng) -> Levels | None:
    """Copy an operand at a loop; remove the copy if there is one already."""
    statement = nest.statements[number]
    plain = [i for i in range(fixed, len(levels)) if levels[i].kind == "loop"]
    if not plain or not statement.reduce:
        return None
    tensor = pick(statement.accesses[:OPERANDS], rng).tensor
    changed = [level._replace(packs=tuple(one for one in level.packs if one != tensor)) for level in levels]
    if changed == levels:
        at = pick(plain, rng)
        changed[at] = changed[at]._replace(packs=(*changed[at].packs, tensor))
    return changed


def _block(nest: Nest, number: int, levels: Levels, fixed: int, rng: Rng) -> Levels | None:
    """Add an outer loop over blocks, or remove a loop if one of its iterator is inside."""
    if rng.random() < 0.5:
        where = [
            i
            for i in range(fixed, len(levels))
            if levels[i].kind == "loop" and any(one.iterator == levels[i].iterator for one in levels[i + 1 :])
        ]
        if not where:
            return None
        at = pick(where, rng)
        return levels[:at] + levels[at + 1 :]
    plain = [i for i in range(fixed, len(levels)) if levels[i].kind == "loop"]
    if not plain:
        return None
    at = pick(plain, rng)
    name = levels[at].iterator
    outer = min((one.step for one in levels[:at] if one.iterator == name), default=nest.extents[name])
    steps = [factor * levels[at].step for factor in FACTORS if factor * levels[at].step < outer]
    if not steps:
        return None
    to = fixed + int(rng.random() * (at + 1 - fixed))
    if any(one.iterator == name for one in levels[to:at]):
        return None
    return [*levels[:to], Level(name, pick(steps, rng)), *levels[to:]]


def _unrolled(nest: Nest, number: int, levels: Levels, fixed: int, rng: Rng) -> Levels | None:
    """Unroll a loop, undo that, or split a loop and unroll the inner part."""
    where = [i for i in range(fixed, len(levels)) if levels[i].kind != "vectorize"]
    if not where:
        return None
    at = pick(where, rng)
    level = levels[at]
    if level.kind == "unroll":
        return [*levels[:at], level._replace(kind="loop"), *levels[at + 1 :]]
    if level.step > 1 or level.packs:
        return None
    factor = pick((2, 3, 4, 6, 8), rng)
    if factor >= nest.extents[level.iterator]:
        return [*levels[:at], level._replace(kind="unroll"), *levels[at + 1 :]]
    tile = next((i for i, one in enumerate(levels) if one.kind != "loop"), len(levels))
    rest = [*levels[:at], level._replace(step=factor), *levels[at + 1 : tile]]
    return [*rest, Level(level.iterator, 1, "unroll"), *levels[tile:]]


_Change = Callable[[Nest, int, Levels, int, Rng], Levels | None]
_CHANGES: Sequence[_Change] = (_resize, _resize, _resize, _exchange, _copy, _block, _unrolled)
