"""The part of a large nest that is compared with NumPy: some slices in full, and a sum over all slices.

Slices are those of an iterator that is an index by itself wherever it comes, such as the rows of a product:
a slice of the results depends on the same slice of the inputs only. Where the results are linear in these
inputs, the sum of all slices, each times 1 or -1, is what the nest makes of the same sum of their slices
(Freivalds 1977): a wrong element changes it.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from burnish.tasks.loop_nests.nest import Access, Nest, Statement
from burnish.tasks.loop_nests.reference import Array, factors_of

WHOLE = 1e9  # operations, up to which a nest is compared as a whole: NumPy takes up to a second for so many
ENDS = 16  # slices from the beginning, and from the end, where what is left over by tiles is computed
DRAWN = 32  # others
MOST_VALUES = 1 << 25  # of an expression that NumPy computes for all iterators before it reduces
FEWEST = 8


@dataclass(frozen=True, eq=False)
class Slices:
    """Which slices of a nest are compared.

    Attributes:
        nest: The same statements, over the slices that are compared.
        iterator: Whose slices they are.
        dimensions: Of the tensors that it is an index of.
        chosen: Its values.
        signs: 1 or -1 for each of its values, where a sum over all is the last slice; None otherwise.
    """

    nest: Nest
    iterator: str
    dimensions: Mapping[str, int]
    chosen: NDArray[np.intp]
    signs: NDArray[np.float64] | None

    def of(self, tensor: str, array: Array) -> Array:
        """Return the slices of a tensor, in double precision."""
        if tensor not in self.dimensions:
            return array.astype(np.float64)
        dimension = self.dimensions[tensor]
        some = np.take(array, self.chosen, axis=dimension).astype(np.float64)
        if self.signs is None:
            return some
        total = np.tensordot(self.signs, array, axes=(0, dimension))
        return np.concatenate([some, np.expand_dims(total, dimension)], axis=dimension)

    def parts(self, tensor: str, array: Array) -> dict[str, Array]:
        """Return what is compared with a tolerance of its own, by what it is, of what `of` returns."""
        if self.signs is None:
            return {f"{len(self.chosen)} slices of {self.iterator}": array}
        some, total = np.split(array, [len(self.chosen)], axis=self.dimensions[tensor])
        return {
            f"{len(self.chosen)} slices of {self.iterator}": some,
            f"the sum over {self.iterator}, with signs": total,
        }


def slices_of(nest: Nest) -> Slices | None:
    """Return what is compared of a nest; None where that is all of it."""
    if nest.flops <= WHOLE:
        return None
    found = [(nest.extents[name], name) for name in nest.extents if _dimensions(nest, name)]
    extent, iterator = max(found, default=(0, ""))
    if extent <= 2 * (2 * ENDS + DRAWN):
        return None
    rng = np.random.default_rng(zlib.crc32(str(nest).encode()))
    linear = all(_is_linear(statement, iterator) for statement in nest.statements)
    drawn = DRAWN
    if not linear:
        values = max(math.prod(nest.extents[name] for name in one.iterators) for one in nest.statements)
        drawn = min(DRAWN, max(FEWEST, MOST_VALUES * extent // values - 2 * FEWEST))
    ends = min(ENDS, drawn)
    middle = ends + rng.choice(extent - 2 * ends, drawn, replace=False)
    chosen = np.concatenate([np.arange(ends), np.sort(middle), np.arange(extent - ends, extent)])
    signs = rng.choice([-1.0, 1.0], extent) if linear else None
    part = replace(nest, extents={**nest.extents, iterator: len(chosen) + linear})
    return Slices(part, iterator, _dimensions(nest, iterator), chosen, signs)


def _dimensions(nest: Nest, iterator: str) -> dict[str, int]:
    """Return which dimension of each tensor an iterator is the index of; {} where it has no slices.

    It must be free in all statements that have it, and in all that are returned.
    """
    found: dict[str, int | None] = {}
    for statement in nest.statements:
        if iterator in statement.reduced:
            return {}
        for access in (statement.target, *statement.accesses):
            here = _dimension(access, iterator)
            if here == MIXED or found.setdefault(access.tensor, here) != here:
                return {}
    known = {tensor: dimension for tensor, dimension in found.items() if dimension is not None}
    return known if all(name in known for name in nest.outputs) else {}


MIXED = -1


def _dimension(access: Access, iterator: str) -> int | None:
    """Return which dimension of an access is indexed by an iterator: None for none, MIXED by others, too."""
    at = [number for number, index in enumerate(access.indices) if index.at(iterator)]
    if not at:
        return None
    index = access.indices[at[0]]
    return at[0] if len(at) == 1 and index.terms == ((iterator, 1),) and not index.offset else MIXED


def _is_linear(statement: Statement, iterator: str) -> bool:
    """Return whether a statement is linear in what it reads by an iterator, or does not have that."""
    if iterator not in statement.iterators:
        return True
    own = [factor for factor in factors_of(statement.value) if iterator in factor.iterators]
    return len(own) == 1 and statement.reduce in ("", "+")
