"""Rewriting of images to channels last (NHWC), which fast kernels take; torch's images are NCHW.

Convolutions and pools become those of NHWC; convolutions of single pixels become matrix products. Elementwise
operations, pads, slices and concatenations follow. All other operations keep their layout, and so do the
program's inputs and results; transpositions are inserted where the two layouts meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from burnish.tasks.mlir_schedules.bindings import bindings, context, parse, run_passes

FILTER = (2, 3, 1, 0)  # HWCF of FCHW
DEPTHWISE_FILTER = (2, 3, 0, 1)  # HWC1 of C1HW
CONVOLUTION = "linalg.conv_2d_nchw_fchw"
DEPTHWISE = "linalg.depthwise_conv_2d_nchw_chw"
WINDOWS: Mapping[str, str] = {
    CONVOLUTION: "conv_2d_nhwc_hwcf",
    DEPTHWISE: "depthwise_conv_2d_nhwc_hwc",
    "linalg.pooling_nchw_max": "pooling_nhwc_max",
    "linalg.pooling_nchw_sum": "pooling_nhwc_sum",
}


@dataclass(frozen=True)
class ChannelsLast:
    """A program whose images have their channels last."""

    text: str
    permuted: Mapping[int, tuple[int, ...]]  # arguments with permuted axes: by number, the order of axes


def channels_last(text: str, inputs: int) -> ChannelsLast:
    """Return a program that computes the same; a program without convolutions comes back unchanged.

    inputs: the number of first arguments that keep their order of axes.
    """
    if not any(name in text for name in (CONVOLUTION, DEPTHWISE)):
        return ChannelsLast(text, {})
    module = parse(text)
    ir = bindings("ir")
    with context(), ir.Location.unknown():
        function = module.body.operations[0]
        rewriting = _Rewriting(function, inputs)
        rewriting.run()
    run_passes(module, "canonicalize,cse,canonicalize")
    return ChannelsLast(str(module), rewriting.permuted)


class _Rewriting:
    """Inserts an NHWC operation before each operation to rewrite; erases the rewritten ones at the end."""

    def __init__(self, function: Any, inputs: int) -> None:
        self.function = function
        self.inputs = inputs  # the number of first arguments that keep their order of axes
        self.last: dict[Any, Any] = {}  # values in NHWC, by the NCHW value
        self.first: dict[Any, Any] = {}  # the same, transposed back to NCHW where an operation needs that
        self.filters: dict[Any, Any] = {}
        self.permuted: dict[int, tuple[int, ...]] = {}
        self.replaced: list[Any] = []

    def run(self) -> None:
        """Rewrite all operations."""
        ir = bindings("ir")
        rewrite: dict[str, Callable[[Any], bool]] = {
            **dict.fromkeys(WINDOWS, self._window),
            "linalg.generic": self._generic,
            "tensor.pad": self._pad,
            "tensor.extract_slice": self._slice,
            "tensor.concat": self._concat,
        }
        for op in [one.operation for one in self.function.regions[0].blocks[0].operations]:
            with ir.InsertionPoint(op):
                if op.name in rewrite and rewrite[op.name](op):
                    self.replaced.append(op)
                    continue
                for number, operand in enumerate(op.operands):
                    if operand in self.last and op.name not in _MADE:
                        op.operands[number] = self._as_first(operand)
        for op in reversed(self.replaced):
            op.erase()

    def _window(self, op: Any) -> bool:
        image, window, out = op.operands
        if op.name in (CONVOLUTION, DEPTHWISE):
            window = self._filter(op, window)
        image, out = self._as_last(image), self._as_last(out)
        options = {name: list(op.attributes[name]) for name in ("strides", "dilations")}
        if op.name == CONVOLUTION and window.type.shape[:2] == [1, 1] and options["strides"] == [1, 1]:
            made = pixel_product(image, window, out)
        else:
            make = getattr(bindings("dialects.linalg"), WINDOWS[op.name])
            made = make(image, window, outs=[out], **options)
        self.last[op.results[0]] = made
        return True

    def _filter(self, op: Any, value: Any) -> Any:
        """Return a convolution's weights as HWCF or HWC; the axes of an argument itself are permuted."""
        if value in self.filters:
            return self.filters[value]
        tensor = bindings("dialects.tensor")
        axes = FILTER if op.name == CONVOLUTION else (1, 2, 0)
        if op.name == CONVOLUTION and self._is_argument(value, CONVOLUTION):
            found = self._permute(value, axes)
        elif op.name == DEPTHWISE and self._is_flattened(value):
            argument = self._permute(value.owner.operands[0], DEPTHWISE_FILTER)
            kind = retyped(value, permuted(value.type.shape, axes))
            found = tensor.collapse_shape(kind, argument, [[0], [1], [2, 3]])
            self.replaced.append(value.owner)
        else:
            found = transposed(value, axes)
        self.filters[value] = found
        return found

    def _is_argument(self, value: Any, user: str) -> bool:
        """Return whether a value is a weight whose only use is as the second operand of `user` operations."""
        return self._is_weight(value) and all(
            use.operand_number == 1 and use.owner.name == user for use in value.uses
        )

    def _is_weight(self, value: Any) -> bool:
        return isinstance(value, bindings("ir").BlockArgument) and value.arg_number >= self.inputs

    def _is_flattened(self, value: Any) -> bool:
        """Return whether a value is a weight of C1HW whose axis of extent 1 is collapsed."""
        owner = value.owner
        if getattr(owner, "name", "") != "tensor.collapse_shape" or len(list(value.uses)) != 1:
            return False
        (argument,) = owner.operands
        shape = list(argument.type.shape)
        alone = self._is_weight(argument) and len(list(argument.uses)) == 1
        return alone and shape == [shape[0], 1, *value.type.shape[1:]]

    def _permute(self, argument: Any, axes: tuple[int, ...]) -> Any:
        """Permute the axes of an argument of the function."""
        ir = bindings("ir")
        argument.set_type(retyped(argument, permuted(argument.type.shape, axes)))
        kind = self.function.type
        inputs = [one.type for one in self.function.regions[0].blocks[0].arguments]
        self.function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(inputs, list(kind.results))
        )
        self.permuted[argument.arg_number] = axes
        return argument

    def _pad(self, op: Any) -> bool:
        (padding,) = list(op.regions[0].blocks[0].operations)[-1].operands
        inside = getattr(padding.owner, "parent", None) == op
        return not inside and self._box(op, "static_low", "static_high")

    def _slice(self, op: Any) -> bool:
        return self._box(op, "static_offsets", "static_sizes", "static_strides")

    def _box(self, op: Any, *names: str) -> bool:
        """Rewrite an op; each attribute in `names` has a number for each axis."""
        if op.operands[0] not in self.last or len(op.operands) > 1 or op.results[0].type.rank != RANK:
            return False
        new = _clone(op, [self.last[op.operands[0]]])
        for name in names:
            numbers = permuted(list(op.attributes[name]), LAST)
            new.attributes[name] = bindings("ir").DenseI64ArrayAttr.get(numbers)
        self._result(op, new, 0)
        return True

    def _concat(self, op: Any) -> bool:
        if not any(operand in self.last for operand in op.operands):
            return False
        new = _clone(op, [self._as_last(operand) for operand in op.operands])
        before = op.attributes["dim"]
        new.attributes["dim"] = bindings("ir").IntegerAttr.get(before.type, LAST.index(before.value))
        self._result(op, new, 0)
        return True

    def _generic(self, op: Any) -> bool:
        known = [number for number, operand in enumerate(op.operands) if operand in self.last]
        if not known or not all(isinstance(one.type, bindings("ir").ShapedType) for one in op.operands):
            return False
        maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
        inputs = op.attributes["operandSegmentSizes"][0]
        images = [maps[number] for number in known if number < inputs]
        follows = [follows_image(one, images) for one in maps[inputs:]]
        if not images:
            return False
        operands = list(op.operands)
        for number, operand in enumerate(operands):
            if (number < inputs and operand in self.last) or (number >= inputs and follows[number - inputs]):
                operands[number] = self._as_last(operand)
                maps[number] = remapped(maps[number], permuted(maps[number].results, LAST))
            elif operand in self.last:
                operands[number] = self._as_first(operand)
        new = _clone(op, operands)
        set_loops(new, maps, all(map(is_image, images)))
        for number, follow in enumerate(follows):
            self._result(op, new, number, follow)
        return True

    def _result(self, op: Any, new: Any, number: int, is_last: bool = True) -> None:
        """Record a new operation's NHWC result for an old one; replace the old one if it is not NHWC."""
        old, value = op.results[number], new.results[number]
        if is_last:
            value.set_type(retyped(old, permuted(old.type.shape, LAST)))
            self.last[old] = value
        else:
            old.replace_all_uses_with(value)

    def _as_last(self, value: Any) -> Any:
        """Return a value as NHWC; an empty or filled tensor is made anew, other values are transposed."""
        if value not in self.last:
            name = getattr(value.owner, "name", "")
            self.last[value] = _MADE[name](self, value) if name in _MADE else transposed(value, LAST)
        return self.last[value]

    def _as_first(self, value: Any) -> Any:
        """Return a value as NCHW."""
        if value not in self.first:
            self.first[value] = transposed(self.last[value], FIRST)
        return self.first[value]

    def _empty(self, value: Any) -> Any:
        return bindings("dialects.tensor").empty(permuted(value.type.shape, LAST), value.type.element_type)

    def _fill(self, value: Any) -> Any:
        number, out = value.owner.operands
        return bindings("dialects.linalg").fill(number, outs=[self._as_last(out)])


_MADE: Mapping[str, Callable[[_Rewriting, Any], Any]] = {
    "tensor.empty": _Rewriting._empty,
    "linalg.fill": _Rewriting._fill,
}


LAST = (0, 2, 3, 1)  # NCHW to NHWC
FIRST = (0, 3, 1, 2)
RANK = 4


def _clone(op: Any, operands: Sequence[Any]) -> Any:
    new = op.clone()
    for number, operand in enumerate(operands):
        new.operands[number] = operand
    return new


def permuted(values: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    """Return one value for each axis, in a new order of the axes."""
    return [values[axis] for axis in axes]


def retyped(value: Any, shape: Sequence[int]) -> Any:
    """Return the type of a value with another shape."""
    return bindings("ir").RankedTensorType.get(shape, value.type.element_type)


def transposed(value: Any, axes: Sequence[int]) -> Any:
    """Transpose a value; if that moves no element in memory, reshape it instead."""
    tensor, shape = bindings("dialects.tensor"), permuted(value.type.shape, axes)
    moved = [axis for axis in axes if value.type.shape[axis] > 1]
    if moved == sorted(moved) and len(axes) == RANK:
        groups = [[0], [1, 2, 3]]
        flat = [shape[0], shape[1] * shape[2] * shape[3]]
        collapsed = tensor.collapse_shape(retyped(value, flat), value, groups)
        return tensor.expand_shape(retyped(value, shape), collapsed, groups, [], shape)
    empty = tensor.empty(shape, value.type.element_type)
    bindings("dialects.linalg").transpose(value, outs=[empty], permutation=list(axes))
    (op,) = [use.owner for use in empty.uses]
    return op.results[0]


def pixel_product(image: Any, window: Any, out: Any) -> Any:
    """Return a 1 x 1 convolution as a matrix product: a row for each pixel, a column for each filter."""
    tensor, groups, shape = bindings("dialects.tensor"), [[0, 1, 2], [3]], list(out.type.shape)
    x, w, y = (
        tensor.collapse_shape(retyped(one, [math.prod(one.type.shape[:3]), one.type.shape[3]]), one, groups)
        for one in (image, window, out)
    )
    made = bindings("dialects.linalg").matmul(x, w, outs=[y])
    return tensor.expand_shape(retyped(out, shape), made, groups, [], shape)


def remapped(one: Any, results: Sequence[Any]) -> Any:
    """Return a map with its results replaced."""
    return bindings("ir").AffineMap.get(one.n_dims, 0, list(results))


def is_image(one: Any) -> bool:
    """Return whether a map visits the elements of an image one by one, in order."""
    return bool(one.n_dims == RANK and one == bindings("ir").AffineMap.get_identity(RANK))


def follows_image(out: Any, images: Sequence[Any]) -> bool:
    """Return whether an output has the axes of an image; each axis may be broadcast or reduced."""
    constant = bindings("ir").AffineConstantExpr
    return len(out.results) == RANK and any(
        all(
            isinstance(one, constant) or isinstance(other, constant) or one == other
            for one, other in zip(out.results, image.results, strict=True)
        )
        for image in images
    )


def set_loops(op: Any, maps: Sequence[Any], in_order: bool) -> None:
    """Set the maps of a linalg.generic; with `in_order`, also put its four loops in the order of NHWC."""
    ir = bindings("ir")
    if in_order:
        dims = [ir.AffineDimExpr.get(place) for place in FIRST]  # the new loop of each old loop
        order = ir.AffineMap.get(RANK, 0, dims)
        maps = [remapped(one, [expression.compose(order) for expression in one.results]) for one in maps]
        kinds = permuted(list(op.attributes["iterator_types"]), LAST)
        op.attributes["iterator_types"] = ir.ArrayAttr.get(kinds)
        for inner in op.regions[0].blocks[0].operations:
            if inner.operation.name == "linalg.index":
                place = FIRST[int(inner.operation.attributes["dim"])]
                kind = ir.IntegerType.get_signless(64)
                inner.operation.attributes["dim"] = ir.IntegerAttr.get(kind, place)
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(one) for one in maps])
