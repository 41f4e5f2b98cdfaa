"""Inputs to copy to the start of a cache line: NumPy's own arrays begin 16, 32 or 48 bytes after one."""

from __future__ import annotations

import math
from collections.abc import Iterator

from burnish.tasks.loop_nests.tree import Tree
from burnish.tasks.tensors.arrays import ALIGNMENT

REUSE = 32  # reads of an element, reuse in tiles included, that pay for a copy: misaligned vectors are slow


def worth_aligning(tree: Tree) -> set[str]:
    """Return the inputs whose vectors are read so often that a copy costs less than misaligned reads.

    A product of 256 x 256 matrices took 192 us with an aligned second operand, and 300 us with one that began
    48 bytes after a multiple of 64 (AVX-512). A misaligned vector touches two cache lines.
    """
    nest = tree.nest
    found = set()
    for tensor, times in _vector_reads(tree):
        shape = nest.shapes[tensor]
        rows_begin_lines = len(shape) == 1 or shape[-1] * nest.itemsize % ALIGNMENT == 0
        if tensor in nest.inputs and rows_begin_lines and times >= REUSE * math.prod(shape):
            found.add(tensor)
    return found


def _vector_reads(tree: Tree) -> Iterator[tuple[str, int]]:
    """Yield each tensor that is read as contiguous vectors without a copy, and the number of reads."""
    nest = tree.nest
    for place in tree.places.values():
        if place.loop.kind != "vectorize":
            continue
        packed = {name for loop in tree.above(place.path) for name in loop.packs}
        for number in tree.leaves(place.path):
            statement = nest.statements[number]
            reads = math.prod(nest.extents[name] for name in statement.iterators)
            for access in statement.accesses:
                if access.tensor not in packed and nest.strides(access).get(place.loop.iterator) == 1:
                    yield access.tensor, reads
