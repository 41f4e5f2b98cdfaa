"""Sites: ops, the loops around them, the state of their schedules, and the effects of actions on these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from burnish.core.action import Action
from burnish.tasks.mlir_schedules.ops import Matrix, Op

Stage = Literal["op", "vectors", "hoisted"]


@dataclass(frozen=True)
class TilingLoop:
    """A loop that tiles an op."""

    name: str  # the value of its attribute burnish.loop
    dimension: int  # the iterator that it tiles, of the op that it was made for
    step: int
    trips: int
    reduces: bool
    shared: bool = False  # scf.forall: its iterations may run at the same time


@dataclass(frozen=True)
class Site:
    """An op with the loops around it."""

    op: Op  # in its last linalg form, if it is vectors by now
    loops: tuple[TilingLoop, ...] = ()  # outermost first; a fused producer has its consumer's loops
    made: int = 0  # loops that were ever made for it
    stage: Stage = "op"
    packed: tuple[int, ...] = ()  # operands
    own: int = 0  # the number of the last `loops` that were made for this op
    unrolled: int = 1  # copies of the body in the innermost loop
    split: int = 0  # splits so far; each made a tail
    holds: int = 0  # outer loops in which other ops are computed, too

    @property
    def name(self) -> str:
        """The site's name."""
        return self.op.site

    @property
    def next_tail(self) -> str:
        """The name of the site that the next split creates."""
        return f"{self.name}.tail{self.split + 1 if self.split else ''}"

    @property
    def own_loops(self) -> tuple[TilingLoop, ...]:
        """The loops that were made for this op."""
        return self.loops[len(self.loops) - self.own :]


@dataclass(frozen=True)
class Sites:
    """All sites, in the program's order; new ones appear when an op becomes several."""

    by_name: Mapping[str, Site]

    @property
    def last(self) -> str:
        """The name of the last op; "" if there are no ops."""
        return list(self.by_name)[-1] if self.by_name else ""

    def put(self, site: Site) -> Sites:
        """Return the state with a site replaced by the given one of the same name."""
        return Sites({**self.by_name, site.name: site})

    def scanned(self, found: Mapping[str, Op]) -> Sites:
        """Return the state with the scanned ops of a module; a new site comes after its parent."""
        kept = {
            name: self._seen(site, found[name]) if name in found else site
            for name, site in self.by_name.items()
            if name in found or site.stage != "op"
        }
        names = list(kept)
        for name, op in found.items():
            if name not in kept:
                kept[name] = Site(op)
                parent = parent_of(name)
                names.insert(names.index(parent) + 1 if parent in names else len(names), name)
        return Sites({name: kept[name] for name in names})

    def _seen(self, site: Site, op: Op) -> Site:
        """Return a site with its scanned op; reads of vectorized ops, which have no site, stay as before."""
        before = site.op
        if op is before:
            return site
        if "" in op.reads and len(op.reads) == len(before.reads):
            pairs = zip(op.reads, before.reads, strict=True)
            op = replace(op, reads=tuple(now or (was if self._is_vectors(was) else "") for now, was in pairs))
        return replace(site, op=op)

    def _is_vectors(self, name: str) -> bool:
        return name in self.by_name and self.by_name[name].stage != "op"

    def apart_from(self, site: Site) -> dict[str, Op]:
        """Return the ops that no action at a site can change.

        They do not read the site's result, and do not make its operands. Ops that were made from others
        are not among them: their reads become known when slices are simplified, which any action may do.
        """
        near = {site.name, *site.op.reads} - {""}
        return {
            name: other.op
            for name, other in self.by_name.items()
            if name not in near and near.isdisjoint(other.op.reads) and parent_of(name) == name
        }

    def readers(self, name: str) -> list[Site]:
        """Return the ops that read a site's result."""
        return [site for site in self.by_name.values() if name in site.op.reads]


def parent_of(name: str) -> str:
    """Return the site that a site was made from: 'matmul#1' for 'matmul#1.tail'; else the site itself."""
    return name.rpartition(".")[0] or name


RESHAPES = (
    *("tile_reduction", "split", "pad", "interchange", "pack", "data_tile"),
    *("fuse", "im2col", "decompose", "fold_unit_dims", "hoist"),
)
"""After these actions, ops are read from the module again; the effect of others on an op is known."""


def changed(sites: Sites, site: Site, text: str, found: Mapping[str, Op], reader: Site | None) -> Sites:
    """Return the sites after an action at a site; its reader is needed for `fuse` only.

    found: the ops of the module after the action, if it is one of RESHAPES.
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
    extents = (*op.extents[:dimension], size, *op.extents[dimension + 1 :])
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
        return sites.put(_renumbered(site, before, lambda i: moved.get(i, i)))
    if site and kind == "fold_unit_dims":
        left = [i for i, extent in enumerate(before.op.extents) if extent > 1]
        places = {i: place for place, i in enumerate(left)}
        return sites.put(_renumbered(site, before, lambda i: places.get(i, len(left))))
    if site and kind == "pack":
        return sites.put(replace(site, packed=(*before.packed, numbers[0])))
    if site and kind == "fuse":
        assert reader
        sites = sites.put(replace(reader, holds=max(reader.holds, numbers[0])))
        return sites.put(replace(site, loops=reader.loops[: numbers[0]], own=0))
    return sites


def _renumbered(site: Site, before: Site, number: Callable[[int], int]) -> Site:
    """Return a site with new numbers of iterators in the loops that were made for it."""
    outer = before.loops[: len(before.loops) - before.own]
    own = (replace(loop, dimension=number(loop.dimension)) for loop in before.own_loops)
    return replace(site, loops=(*outer, *own))


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
