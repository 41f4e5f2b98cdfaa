"""The part of a large nest that is compared with NumPy: some slices in full, and a sum over all slices.

Slices belong to an iterator that is an index by itself wherever it occurs, such as the row of a product. A
slice of the results then depends on the same slice of the inputs only. If the results are linear in these
inputs, all slices are also checked at once (Freivalds 1977): with signs 1 or -1, the sum of the results'
slices must be the nest's result for the same sum of the inputs' slices. A wrong element changes that sum.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from burnish.tasks.loop_nests.nest import Affine, Nest, Statement
from burnish.tasks.loop_nests.reference import factors_of
from burnish.tasks.tensors.arrays import Array

WHOLE = 1e9  # operations; nests up to this size are compared completely: NumPy takes up to a second
ENDS = 16  # slices at the beginning, and as many at the end, where tails of tiles are computed
DRAWN = 32  # further slices
MOST_VALUES = 1 << 25  # elements of an expression that NumPy holds for all iterators before it reduces
FEWEST = 8  # further slices at least, if a nest has too many values for DRAWN


@dataclass(frozen=True, eq=False)
class Slices:
    """The slices of a nest that are compared.

    Attributes:
        nest: The same statements, over these slices (with the sum over all, if there are signs).
        iterator: The iterator whose values are the slices.
        dimensions: The dimension that the iterator indexes, by tensor.
        chosen: The values of the iterator that are compared.
        signs: 1 or -1 for each value of the iterator if a sum over all slices is the last slice, else None.
    """

    nest: Nest
    iterator: str
    dimensions: Mapping[str, int]
    chosen: NDArray[np.intp]
    signs: NDArray[np.float64] | None

    def of(self, tensor: str, array: Array) -> Array:
        """Return the slices of a tensor in double precision; the whole tensor if it has none."""
        if tensor not in self.dimensions:
            return array.astype(np.float64)
        dimension = self.dimensions[tensor]
        some = np.take(array, self.chosen, axis=dimension).astype(np.float64)
        if self.signs is None:
            return some
        total = np.tensordot(self.signs, array, axes=(0, dimension))
        return np.concatenate([some, np.expand_dims(total, dimension)], axis=dimension)

    def parts(self, tensor: str, array: Array) -> dict[str, Array]:
        """Return the parts of `of`'s result that are compared with separate tolerances, by description."""
        if self.signs is None:
            return {f"{len(self.chosen)} slices of {self.iterator}": array}
        some, total = np.split(array, [len(self.chosen)], axis=self.dimensions[tensor])
        return {
            f"{len(self.chosen)} slices of {self.iterator}": some,
            f"the sum over {self.iterator}, with signs": total,
        }


def slices_of(nest: Nest) -> Slices | None:
    """Return the slices of a nest to compare; None to compare all elements."""
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
    """Return the dimension of each tensor that an iterator indexes; {} if the iterator has no slices.

    No statement may reduce the iterator, and all outputs must have it.
    """
    found: dict[str, int | None] = {}
    for statement in nest.statements:
        if iterator in statement.reduced:
            return {}
        for access in (statement.target, *statement.accesses):
            at = [number for number, index in enumerate(access.indices) if index.at(iterator)]
            if len(at) > 1 or (at and access.indices[at[0]] != Affine(((iterator, 1),))):
                return {}
            here = at[0] if at else None
            if found.setdefault(access.tensor, here) != here:
                return {}
    known = {tensor: dimension for tensor, dimension in found.items() if dimension is not None}
    return known if all(name in known for name in nest.outputs) else {}


def _is_linear(statement: Statement, iterator: str) -> bool:
    """Return whether a statement is linear in its reads with an iterator, or does not have the iterator."""
    if iterator not in statement.iterators:
        return True
    own = [factor for factor in factors_of(statement.value) if iterator in factor.iterators]
    return len(own) == 1 and statement.reduce in ("", "+")
