"""Sites: ops, the loops around them, and the state of their schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from burnish.tasks.mlir_schedules.ops import Op

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
