"""Texts of single ops; each function returns one without the name of its result."""

from __future__ import annotations

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


def constant(value: str) -> str:
    """Write a scalar constant."""
    return f"arith.constant {value} : {ELEMENT}"


def empty(shape: Sequence[int]) -> str:
    """Write a tensor without values."""
    return f"tensor.empty() : {type_of(shape)}"


def fill(scalar: str, out: Tensor) -> str:
    """Write a tensor whose elements all have one value."""
    return f"linalg.fill ins({scalar} : {ELEMENT}) outs({_list([out])}) -> {out.type}"


def named(op: str, inputs: Sequence[Tensor], out: Tensor, attributes: str = "") -> str:
    """Write one of linalg's named ops; its attributes begin with a space."""
    return f"linalg.{op}{attributes} ins({_list(inputs)}) outs({_list([out])}) -> {out.type}"


def generic(spec: str, inputs: Sequence[Tensor], out: Tensor, element: Expression) -> str:
    """Write a linalg.generic.

    Args:
        spec: The iterators that index each operand, such as 'mn,n->mn'. Iterators that the output lacks are
            reduced; loops are in the order of their letters' first occurrence.
        inputs: One for each part before the arrow.
        out: The output.
        element: An expression of 'a', 'b', ... (inputs), 'o' (the output), and outer scalars ('%c0').
    """
    order = "".join(dict.fromkeys(letter for letter in spec if letter.isalpha()))
    written = spec.partition("->")[2]
    kinds = ", ".join('"parallel"' if letter in written else '"reduction"' for letter in order)
    names = [*(chr(ord("a") + number) for number in range(len(inputs))), OUTPUT]
    lines: list[str] = []
    result = _compute(element, lines)
    head = f"linalg.generic {{indexing_maps = {maps(spec, order)}, iterator_types = [{kinds}]}}"
    return "\n".join(
        [
            f"{head} ins({_list(inputs)}) outs({_list([out])}) {{",
            f"^bb0({', '.join(f'%{name}: {ELEMENT}' for name in names)}):",
            *lines,
            f"linalg.yield {result} : {ELEMENT}",
            f"}} -> {out.type}",
        ]
    )


def transpose(source: Tensor, out: Tensor, permutation: Sequence[int]) -> str:
    """Write a transposition; the i-th dimension of the result is the source's permutation[i]-th."""
    operands = f"ins({_list([source])}) outs({_list([out])})"
    return f"linalg.transpose {operands} permutation = {list(permutation)}"


def pad(source: Tensor, by: Sequence[int], scalar: str) -> str:
    """Write a tensor padded with a scalar, by `by` elements at both ends of each dimension."""
    shape = [extent + 2 * more for extent, more in zip(source.shape, by, strict=True)]
    indices = ", ".join(f"%i{number}: index" for number in range(len(by)))
    return (
        f"tensor.pad {source.name} low{list(by)} high{list(by)} {{\n^bb0({indices}):\n"
        f"tensor.yield {scalar} : {ELEMENT}\n}} : {source.type} to {type_of(shape)}"
    )


def collapse(source: Tensor, groups: Groups, shape: Sequence[int]) -> str:
    """Write the same elements with fewer dimensions."""
    return f"tensor.collapse_shape {source.name} {_nested(groups)} : {source.type} into {type_of(shape)}"


def expand(source: Tensor, groups: Groups, shape: Sequence[int]) -> str:
    """Write the same elements with more dimensions."""
    operands = f"{source.name} {_nested(groups)} output_shape {list(shape)}"
    return f"tensor.expand_shape {operands} : {source.type} into {type_of(shape)}"


def maps(spec: str, order: str) -> str:
    """Write the indexing maps of a spec; `order` is the order of the loops."""
    parts = spec.replace("->", ",").split(",")
    return f"[{', '.join(f'affine_map<({_letters(order)}) -> ({_letters(part)})>' for part in parts)}]"


def _letters(text: str) -> str:
    return ", ".join(text)


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


def _nested(groups: Groups) -> str:
    return f"[{', '.join(str(list(group)) for group in groups)}]"
