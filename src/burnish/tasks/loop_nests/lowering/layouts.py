"""Memory layouts of tensors: the caller's arrays, copies of parts, and temporary tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from burnish.tasks.loop_nests.lowering.code import Code, Term
from burnish.tasks.loop_nests.nest import Access, Nest, strides
from burnish.tasks.tensors.arrays import ALIGNMENT

Indices = Mapping[str, tuple[str, int]]
"""The index of each iterator: a computed value ("" for none), and a constant to add."""


@dataclass(frozen=True)
class Layout:
    """The location of an access's elements.

    Attributes:
        base: The pointer to the first element.
        steps: The stride of each iterator, in elements; within a block if the iterator has blocks.
        blocks: For iterators with blocks: the values in a block, and the stride of a block in elements.
        offset: Elements to add to the base.
        origin: The indices of the first element; 0 for iterators that are missing.
    """

    base: str
    steps: Mapping[str, int]
    blocks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    offset: int = 0
    origin: Indices = field(default_factory=dict)


@dataclass(frozen=True)
class Temporary:
    """A temporary tensor: a dimension whose loop is around all uses has only the part of one iteration."""

    base: str
    shape: tuple[int, ...]
    origin: Indices = field(default_factory=dict)


class Layouts:
    """The layouts of all tensors at one place of a loop tree."""

    def __init__(self, code: Code, nest: Nest, region: str, used_bytes: int) -> None:
        """Begin with the caller's arrays; scratch memory begins after the used bytes of a region."""
        self.code, self.nest, self.region = code, nest, region
        self.packed: dict[str, Layout] = {}
        self.temporaries: dict[str, Temporary] = {}
        self.scratch_bytes = used_bytes

    def scratch(self, elements: int) -> str:
        """Reserve memory for a number of elements, and return its pointer."""
        start = -(-self.scratch_bytes // ALIGNMENT) * ALIGNMENT
        self.scratch_bytes = start + elements * self.nest.itemsize
        return self.code.emit(f"getelementptr inbounds i8, ptr {self.region}, i64 {start}")

    def inside(self, tensors: Iterable[str], iterator: str, at: tuple[str, int]) -> None:
        """Set an index as origin of temporary tensors, for the body of a loop around all their uses."""
        for tensor in tensors:
            known = self.temporaries[tensor]
            self.temporaries[tensor] = replace(known, origin={**known.origin, iterator: at})

    def of(self, access: Access) -> Layout:
        """Return the layout of an access."""
        if access.tensor in self.packed:
            return self.packed[access.tensor]
        if known := self.temporaries.get(access.tensor):
            steps, offset = strides(access, known.shape)
            return Layout(known.base, steps, offset=offset, origin=known.origin)
        steps, offset = strides(access, self.nest.shapes[access.tensor])
        return Layout(f"%t.{access.tensor}", steps, offset=offset)

    def steps(self, access: Access) -> Mapping[str, int]:
        """Return the strides of an access within a tile, in elements."""
        return self.of(access).steps

    def address(self, access: Access, at: Indices) -> str:
        """Return a pointer to the element of an access at some indices."""
        layout = self.of(access)
        terms: list[Term] = []
        constant = layout.offset
        for name, step in layout.steps.items():
            value, offset = at[name]
            first, before = layout.origin.get(name, ("", 0))
            if first:
                value = "" if value == first else self.code.emit(f"sub nuw nsw i64 {value}, {first}")
            offset -= before
            if name in layout.blocks:
                size, step = layout.blocks[name]
                value = self.code.emit(f"udiv exact i64 {value}, {size}") if value and size > 1 else value
                offset //= size
            terms.append((value, step))
            constant += offset * step
        return self.code.pointer(layout.base, terms, constant)
