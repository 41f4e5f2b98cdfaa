"""Which loops are around each op, and what was made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from burnish.tasks.mlir_schedules.ops import Op

Stage = Literal["op", "vectors", "hoisted"]


@dataclass(frozen=True)
class TilingLoop:
    """A loop that tiles an op."""

    name: str  # its attribute
    dimension: int  # of the op that it was made for
    step: int
    trips: int
    reduces: bool
    shared: bool = False  # scf.forall: its iterations may run at the same time


@dataclass(frozen=True)
class Site:
    """An op with the loops around it."""

    op: Op  # as it was last, where it is vectors by now
    loops: tuple[TilingLoop, ...] = ()  # outermost first; a producer that was fused has its consumer's
    made: int = 0  # how many loops it ever got
    stage: Stage = "op"
    packed: tuple[int, ...] = ()  # operands
    own: int = 0  # of `loops`, so many were made for this op: the last ones
    unrolled: int = 1  # bodies of the innermost loop
    split: int = 0  # how often: so many tails were born
    holds: int = 0  # outer loops in which other ops are computed, too

    @property
    def name(self) -> str:
        """The site's name."""
        return self.op.site

    @property
    def next_tail(self) -> str:
        """The name of the site that the next split gives birth to."""
        return f"{self.name}.tail{self.split + 1 if self.split else ''}"

    @property
    def own_loops(self) -> tuple[TilingLoop, ...]:
        """The loops that were made for this op."""
        return self.loops[len(self.loops) - self.own :]


@dataclass(frozen=True)
class Sites:
    """All sites, in the program's order; sites are born where an op becomes several."""

    by_name: Mapping[str, Site]

    @property
    def last(self) -> str:
        """The name of the last op; "" where there is none."""
        return list(self.by_name)[-1] if self.by_name else ""

    def put(self, site: Site) -> Sites:
        """Return the state with another site of that name."""
        return Sites({**self.by_name, site.name: site})

    def scanned(self, found: Mapping[str, Op]) -> Sites:
        """Return the state with the ops of a module, the new ones behind the one that they were born of."""
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
        """Return a site whose op was looked at anew; what it reads of vectors is known from before."""
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
        """Return the ops that stay as they are, whatever is made of a site.

        They read nothing that it makes, and make nothing that it reads. Those that were born are not among
        them: what they read is found where slices are simplified, wherever that is asked for.
        """
        near = {site.name, *site.op.reads} - {""}
        return {
            name: other.op
            for name, other in self.by_name.items()
            if name not in near and near.isdisjoint(other.op.reads) and parent_of(name) == name
        }

    def readers(self, name: str) -> list[Site]:
        """Return the ops that read what a site makes."""
        return [site for site in self.by_name.values() if name in site.op.reads]


def parent_of(name: str) -> str:
    """Return the site that one was born of: 'matmul#1' of 'matmul#1.tail'."""
    return name.rpartition(".")[0] or name
