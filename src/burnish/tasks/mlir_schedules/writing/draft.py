"""An unfinished program: ops are added one after another, and the values of `main` are numbered."""

from __future__ import annotations

import math
from collections.abc import Sequence

from burnish.tasks.mlir_schedules.writing import texts
from burnish.tasks.mlir_schedules.writing.texts import ITEMSIZE, Expression, Tensor, Window


class Draft:
    """The part of a program that is written so far.

    Attributes:
        points: The points of all iteration spaces; a contraction has one for each multiply-add.
        size_bytes: The size of all arguments and of the results of all ops.
    """

    def __init__(self) -> None:
        self.points = 0
        self.size_bytes = 0
        self._arguments: list[Tensor] = []
        self._lines: list[str] = []
        self._constants: dict[str, str] = {}
        self._values = 0

    def copy(self) -> Draft:
        """Return an independent copy."""
        other = Draft()
        other.points, other.size_bytes, other._values = self.points, self.size_bytes, self._values
        other._arguments, other._lines = list(self._arguments), list(self._lines)
        other._constants = dict(self._constants)
        return other

    def argument(self, *shape: int) -> Tensor:
        """Add an argument of `main`."""
        tensor = Tensor(f"%arg{len(self._arguments)}", shape)
        self._arguments.append(tensor)
        self._count(shape, 0)
        return tensor

    def constant(self, value: float | str) -> str:
        """Return the name of a scalar constant; equal constants are written once."""
        text = value if isinstance(value, str) else f"{value:.9e}"
        if text not in self._constants:
            self._constants[text] = f"%c{len(self._constants)}"
        return self._constants[text]

    def filled(self, shape: Sequence[int], value: float | str = 0.0) -> Tensor:
        """Add a tensor whose elements all have one value."""
        return self._add(texts.fill(self.constant(value), self._empty(shape)), shape)

    def named(
        self,
        op: str,
        inputs: Sequence[Tensor],
        out: Tensor | Sequence[int],
        points: int,
        attributes: str = "",
    ) -> Tensor:
        """Add one of linalg's named ops.

        Args:
            op: The op's name, such as 'matmul'.
            inputs: The operands.
            out: The initial value of the result, or the result's extents if the op overwrites it.
            points: The points of the op's iteration space.
            attributes: The attributes' text, with a space before it.
        """
        start = out if isinstance(out, Tensor) else self._empty(out)
        self._count(start.shape, points)
        return self._add(texts.named(op, inputs, start, attributes), start.shape)

    def generic(
        self, spec: str, inputs: Sequence[Tensor], element: Expression, start: float | str | None = None
    ) -> Tensor:
        """Add a linalg.generic; see `texts.generic`.

        Args:
            spec: The iterators that index each operand, such as 'mn,n->mn'.
            inputs: The operands, which give the iterators' extents.
            element: The expression of an element.
            start: The initial value of a reduction.
        """
        extents = extents_of(spec, inputs)
        shape = [extents[letter] for letter in spec.partition("->")[2]]
        out = self._empty(shape) if start is None else self.filled(shape, start)
        self._count(shape, math.prod(extents.values()))
        return self._add(texts.generic(spec, inputs, out, element), shape)

    def window(self, size: Window) -> Tensor:
        """Add the tensor that gives a pool the extents of its window."""
        return self._empty((size.side, size.side))

    def transposed(self, source: Tensor, permutation: Sequence[int]) -> Tensor:
        """Add a tensor with its dimensions in another order."""
        shape = [source.shape[number] for number in permutation]
        self._count(shape, math.prod(shape))
        return self._add(texts.transpose(source, self._empty(shape), permutation), shape)

    def padded(self, source: Tensor, by: Sequence[int], value: float | str = 0.0) -> Tensor:
        """Add a tensor padded by `by` elements at both ends of each dimension."""
        shape = [extent + 2 * more for extent, more in zip(source.shape, by, strict=True)]
        self._count(shape, math.prod(shape))
        return self._add(texts.pad(source, by, self.constant(value)), shape)

    def collapsed(self, source: Tensor, groups: texts.Groups) -> Tensor:
        """Add a tensor with the same elements and fewer dimensions."""
        shape = [math.prod(source.shape[number] for number in group) for group in groups]
        return self._add(texts.collapse(source, groups, shape), shape)

    def expanded(self, source: Tensor, groups: texts.Groups, shape: Sequence[int]) -> Tensor:
        """Add a tensor with the same elements and more dimensions."""
        return self._add(texts.expand(source, groups, shape), shape)

    def text(self, *results: Tensor) -> str:
        """Return the module; its `main` returns `results`."""
        arguments = ", ".join(f"{one.name}: {one.type}" for one in self._arguments)
        types = ", ".join(one.type for one in results)
        constants = [f"{name} = {texts.constant(value)}" for value, name in self._constants.items()]
        last = f"return {', '.join(one.name for one in results)} : {types}"
        lines = [f"func.func @main({arguments}) -> ({types}) {{", *constants, *self._lines, last, "}"]
        return "\n".join(lines) + "\n"

    def _empty(self, shape: Sequence[int]) -> Tensor:
        return self._add(texts.empty(shape), shape)

    def _add(self, text: str, shape: Sequence[int]) -> Tensor:
        tensor = Tensor(f"%{self._values}", tuple(shape))
        self._values += 1
        self._lines.append(f"{tensor.name} = {text}")
        return tensor

    def _count(self, shape: Sequence[int], points: int) -> None:
        self.points += points
        self.size_bytes += ITEMSIZE * math.prod(shape)


def extents_of(spec: str, inputs: Sequence[Tensor]) -> dict[str, int]:
    """Return the extent of each iterator of a spec."""
    parts = spec.partition("->")[0].split(",")
    pairs = zip(parts, inputs, strict=True)
    return {letter: extent for part, one in pairs for letter, extent in zip(part, one.shape, strict=True)}
