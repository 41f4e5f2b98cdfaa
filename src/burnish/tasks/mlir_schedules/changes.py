"""Effects of an action on the sites, besides the module: loops, stages, and new sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from burnish.core.action import Action
from burnish.tasks.mlir_schedules.ops import Matrix, Op
from burnish.tasks.mlir_schedules.sites import Site, Sites, TilingLoop

RESHAPES = (
    *("tile_reduction", "split", "pad", "interchange", "pack", "data_tile"),
    *("fuse", "im2col", "decompose", "fold_unit_dims", "hoist"),
)
"""After these actions, ops are read from the module again; the effect of others on an op is known."""


def changed(sites: Sites, site: Site, text: str, found: Mapping[str, Op], reader: Site | None) -> Sites:
    """Return the sites after an action.

    Args:
        sites: The sites before the action.
        site: The site of the action.
        text: The action's text.
        found: The ops of the module after the action, if it is one of RESHAPES.
        reader: The op that reads the site's result, for `fuse`.
    """
    action = Action.parse(text)
    numbers = [int(parameter) for parameter in action.parameters]
    if action.kind in RESHAPES:
        return _reshaped(sites.scanned(found), site, action.kind, numbers, reader)
    if action.kind in ("tile", "tile_parallel"):
        return sites.put(_tiled(site, *numbers, shared=action.kind == "tile_parallel"))
    if action.kind == "vectorize":
        return sites.put(replace(site, stage="vectors"))
    return sites.put(_unrolled(site, numbers[0]))


def _tiled(site: Site, dimension: int, size: int, *, shared: bool) -> Site:
    op = site.op
    trips = op.extents[dimension] // size
    loop = TilingLoop(f"{site.name}/{site.made}", dimension, size, trips, op.reduces[dimension], shared)
    extents = _with(op.extents, dimension, size)
    shapes = zip(op.accesses, op.shapes, strict=True)
    tiled = replace(op, extents=extents, shapes=tuple(_sliced(*one, extents, dimension) for one in shapes))
    return replace(site, op=tiled, loops=(*site.loops, loop), made=site.made + 1, own=site.own + 1)


def _unrolled(site: Site, factor: int) -> Site:
    loop = site.loops[-1]
    if factor < loop.trips:
        left = replace(loop, step=loop.step * factor, trips=loop.trips // factor)
        return replace(site, loops=(*site.loops[:-1], left), unrolled=site.unrolled * factor)
    return replace(site, loops=site.loops[:-1], own=site.own - 1, unrolled=site.unrolled * factor)


def _reshaped(sites: Sites, before: Site, kind: str, numbers: list[int], reader: Site | None) -> Sites:
    site = sites.by_name.get(before.name)
    if kind == "split":
        tail = sites.by_name[before.next_tail]
        sites = sites.put(replace(sites.by_name[before.name], split=before.split + 1))
        return sites.put(replace(tail, loops=before.loops, own=before.own))
    if site and kind == "hoist":  # its operands may be folded, such as the zeros that it starts from
        return sites.put(replace(site, stage="hoisted"))
    if site and kind == "tile_reduction":
        dimension, size = numbers
        trips = before.op.extents[dimension] // size
        loop = TilingLoop(f"{site.name}/{before.made}", dimension, size, trips, True)
        for name in ("start", "combined"):
            born = sites.by_name[f"{site.name}.{name}"]
            sites = sites.put(replace(born, loops=before.loops))
        loops = (*before.loops, loop)
        made, own = before.made + 1, before.own + 1
        return sites.put(replace(site, loops=loops, made=made, own=own, holds=len(before.loops)))
    if site and kind == "interchange":
        one, other = numbers
        moved = {one: other, other: one}
        loops = tuple(
            replace(loop, dimension=moved.get(loop.dimension, loop.dimension)) for loop in before.own_loops
        )
        return sites.put(replace(site, loops=(*before.loops[: len(before.loops) - before.own], *loops)))
    if site and kind == "fold_unit_dims":
        left = [i for i, extent in enumerate(before.op.extents) if extent > 1]
        places = {i: place for place, i in enumerate(left)}
        loops = tuple(
            replace(loop, dimension=places.get(loop.dimension, len(left))) for loop in before.own_loops
        )
        return sites.put(replace(site, loops=(*before.loops[: len(before.loops) - before.own], *loops)))
    if site and kind == "pack":
        return sites.put(replace(site, packed=(*before.packed, numbers[0])))
    if site and kind == "fuse":
        assert reader
        sites = sites.put(replace(reader, holds=max(reader.holds, numbers[0])))
        return sites.put(replace(site, loops=reader.loops[: numbers[0]], own=0))
    return sites


def _sliced(
    access: Matrix, shape: tuple[int, ...], extents: tuple[int, ...], dimension: int
) -> tuple[int, ...]:
    """Return the shape of an operand's slice in a tile: smaller in the tiled iterator's dimensions."""
    if not access:
        return shape
    return tuple(
        1 + sum(factor * (extent - 1) for factor, extent in zip(row[:-1], extents, strict=True))
        if row[dimension]
        else size
        for row, size in zip(access, shape, strict=True)
    )


def _with(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])
