"""An unfinished program: ops are added one after another, and the values of `main` are numbered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Expression = str | tuple["str | Expression", ...]  # a name, or ('arith.addf', left, right)
Groups = Sequence[Sequence[int]]  # the dimensions that are one dimension on the other side

ELEMENT = "f32"
ITEMSIZE = 4  # bytes
LOWEST = "0xFF800000"  # minus infinity
OUTPUT = "o"  # the output's element in an expression; the inputs' elements are a, b, c, ...


@dataclass(frozen=True)
class Tensor:
    """A value: its name and its extents."""

    name: str
    shape: tuple[int, ...]

    @property
    def type(self) -> str:
        """The type, such as 'tensor<4x8xf32>'."""
        return type_of(self.shape)


@dataclass(frozen=True)
class Window:
    """A window that moves over an image: `side` x `side` elements, `dilation` apart, in steps of `stride`."""

    side: int
    stride: int = 1
    dilation: int = 1

    @property
    def reach(self) -> int:
        """The number of elements between its ends, both included."""
        return self.dilation * (self.side - 1) + 1

    def before(self, extent: int) -> int:
        """Return the extent of the image for an extent of the output."""
        return (extent - 1) * self.stride + self.reach

    def after(self, extent: int) -> int:
        """Return the extent of the output for an extent of the image; below 1 if the window does not fit."""
        return (extent - self.reach) // self.stride + 1

    @property
    def attributes(self) -> str:
        """The attributes of linalg's convolutions and pools, with a space before them."""
        written = {"dilations": self.dilation, "strides": self.stride}
        return f" {{{', '.join(f'{name} = dense<{by}> : tensor<2xi64>' for name, by in written.items())}}}"


def type_of(shape: Sequence[int]) -> str:
    """Return the type of a tensor of given extents."""
    return f"tensor<{'x'.join([*map(str, shape), ELEMENT])}>"


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
        out = self._empty(shape)
        return self._add(f"linalg.fill ins({self.constant(value)} : {ELEMENT}) {_written(out)}", shape)

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
        return self._add(f"linalg.{op}{attributes} ins({_list(inputs)}) {_written(start)}", start.shape)

    def generic(
        self, spec: str, inputs: Sequence[Tensor], element: Expression, start: float | str | None = None
    ) -> Tensor:
        """Add a linalg.generic.

        Args:
            spec: The iterators that index each operand, such as 'mn,n->mn'. Iterators that the output lacks
                are reduced; loops are in the order of their letters' first occurrence.
            inputs: The operands, which give the iterators' extents.
            element: An expression of 'a', 'b', ... (inputs), 'o' (the output), and outer scalars ('%c0').
            start: The initial value of a reduction.
        """
        extents = extents_of(spec, inputs)
        written = spec.partition("->")[2]
        shape = [extents[letter] for letter in written]
        out = self._empty(shape) if start is None else self.filled(shape, start)
        self._count(shape, math.prod(extents.values()))
        kinds = ", ".join('"parallel"' if letter in written else '"reduction"' for letter in extents)
        names = [*(chr(ord("a") + number) for number in range(len(inputs))), OUTPUT]
        lines: list[str] = []
        result = _compute(element, lines)
        head = f"indexing_maps = {maps(spec, ''.join(extents))}, iterator_types = [{kinds}]"
        parts = [
            f"linalg.generic {{{head}}} ins({_list(inputs)}) outs({_list([out])}) {{",
            f"^bb0({', '.join(f'%{name}: {ELEMENT}' for name in names)}):",
            *lines,
            f"linalg.yield {result} : {ELEMENT}",
            f"}} -> {out.type}",
        ]
        return self._add("\n".join(parts), shape)

    def window(self, size: Window) -> Tensor:
        """Add the tensor that gives a pool the extents of its window."""
        return self._empty((size.side, size.side))

    def transposed(self, source: Tensor, permutation: Sequence[int]) -> Tensor:
        """Add a transposition; the i-th dimension of the result is the source's permutation[i]-th."""
        shape = [source.shape[number] for number in permutation]
        self._count(shape, math.prod(shape))
        operands = f"ins({_list([source])}) outs({_list([self._empty(shape)])})"
        return self._add(f"linalg.transpose {operands} permutation = {list(permutation)}", shape)

    def padded(self, source: Tensor, by: Sequence[int], value: float | str = 0.0) -> Tensor:
        """Add a tensor padded by `by` elements at both ends of each dimension."""
        shape = [extent + 2 * more for extent, more in zip(source.shape, by, strict=True)]
        self._count(shape, math.prod(shape))
        indices = ", ".join(f"%i{number}: index" for number in range(len(by)))
        text = (
            f"tensor.pad {source.name} low{list(by)} high{list(by)} {{\n^bb0({indices}):\n"
            f"tensor.yield {self.constant(value)} : {ELEMENT}\n}} : {source.type} to {type_of(shape)}"
        )
        return self._add(text, shape)

    def collapsed(self, source: Tensor, groups: Groups) -> Tensor:
        """Add a tensor with the same elements and fewer dimensions."""
        shape = [math.prod(source.shape[number] for number in group) for group in groups]
        text = f"{source.name} {_nested(groups)} : {source.type} into {type_of(shape)}"
        return self._add(f"tensor.collapse_shape {text}", shape)

    def expanded(self, source: Tensor, groups: Groups, shape: Sequence[int]) -> Tensor:
        """Add a tensor with the same elements and more dimensions."""
        operands = f"{source.name} {_nested(groups)} output_shape {list(shape)}"
        return self._add(f"tensor.expand_shape {operands} : {source.type} into {type_of(shape)}", shape)

    def text(self, *results: Tensor) -> str:
        """Return the module; its `main` returns `results`."""
        arguments = ", ".join(f"{one.name}: {one.type}" for one in self._arguments)
        types = ", ".join(one.type for one in results)
        constants = [
            f"{name} = arith.constant {value} : {ELEMENT}" for value, name in self._constants.items()
        ]
        last = f"return {', '.join(one.name for one in results)} : {types}"
        lines = [f"func.func @main({arguments}) -> ({types}) {{", *constants, *self._lines, last, "}"]
        return "\n".join(lines) + "\n"

    def _empty(self, shape: Sequence[int]) -> Tensor:
        return self._add(f"tensor.empty() : {type_of(shape)}", shape)

    def _add(self, text: str, shape: Sequence[int]) -> Tensor:
        tensor = Tensor(f"%{self._values}", tuple(shape))
        self._values += 1
        self._lines.append(f"{tensor.name} = {text}")
        return tensor

    def _count(self, shape: Sequence[int], points: int) -> None:
        self.points += points
        self.size_bytes += ITEMSIZE * math.prod(shape)


def extents_of(spec: str, inputs: Sequence[Tensor]) -> dict[str, int]:
    """Return the extent of each iterator of a spec, in the order of their first occurrence."""
    parts = spec.partition("->")[0].split(",")
    pairs = zip(parts, inputs, strict=True)
    return {letter: extent for part, one in pairs for letter, extent in zip(part, one.shape, strict=True)}


def maps(spec: str, order: str) -> str:
    """Write the indexing maps of a spec; `order` is the order of the loops."""
    loops, *parts = (", ".join(part) for part in (order, *spec.replace("->", ",").split(",")))
    return f"[{', '.join(f'affine_map<({loops}) -> ({part})>' for part in parts)}]"


def _compute(element: Expression, lines: list[str]) -> str:
    """Append the lines that compute an element, and return the name of its value."""
    if isinstance(element, str):
        return element if element.startswith("%") else f"%{element}"
    op, *operands = element
    names = [_compute(operand, lines) for operand in operands]
    lines.append(f"%t{len(lines)} = {op} {', '.join(names)} : {ELEMENT}")
    return f"%t{len(lines) - 1}"


def _list(tensors: Sequence[Tensor]) -> str:
    return f"{', '.join(one.name for one in tensors)} : {', '.join(one.type for one in tensors)}"


def _written(out: Tensor) -> str:
    return f"outs({_list([out])}) -> {out.type}"


def _nested(groups: Groups) -> str:
    return f"[{', '.join(str(list(group)) for group in groups)}]"
