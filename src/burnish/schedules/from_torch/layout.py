"""Images with their channels last, as fast kernels take them: torch's have them before rows and columns.

Convolutions and pools become those of NHWC, convolutions of single pixels products; what is done element by
element follows; all the rest, and what a program takes and returns, keeps its layout, by a transposition
where the two meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from burnish.tasks.mlir_schedules.bindings import bindings, context, parse, run_passes

LAST = (0, 2, 3, 1)  # NHWC of NCHW, and HWC1 of C1HW is its own
FIRST = (0, 3, 1, 2)
FILTER = (2, 3, 1, 0)  # HWCF of FCHW
DEPTHWISE_FILTER = (2, 3, 0, 1)  # HWC1 of C1HW
RANK = 4

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
    permuted: Mapping[int, tuple[int, ...]]  # the axes of arguments that it takes in another order


def channels_last(text: str, inputs: int) -> ChannelsLast:
    """Return a program that computes the same; one without convolutions as it is.

    Args:
        text: A program.
        inputs: How many of its arguments keep their order, from the first one on.
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
    """Operations are followed by those of NHWC, one by one; what was replaced is erased at the end."""

    def __init__(self, function: Any, inputs: int) -> None:
        self.function = function
        self.inputs = inputs  # arguments that keep their order
        self.last: dict[Any, Any] = {}  # values as NHWC, by those of NCHW
        self.first: dict[Any, Any] = {}  # the other way around, where that was needed
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
        }
        for op in [one.operation for one in self.function.regions[0].blocks[0].operations]:
            with ir.InsertionPoint(op):
                if op.name in rewrite and rewrite[op.name](op):
                    self.replaced.append(op)
                    continue
                for number, operand in enumerate(op.operands):
                    if operand in self.last and op.name not in _MADE:
                        op.operands[number] = self._as_first(operand)
        self._erase()

    def _window(self, op: Any) -> bool:
        image, window, out = op.operands
        if op.name in (CONVOLUTION, DEPTHWISE):
            window = self._filter(op, window)
        image, out = self._as_last(image), self._as_last(out)
        options = {name: list(op.attributes[name]) for name in ("strides", "dilations")}
        if op.name == CONVOLUTION and window.type.shape[:2] == [1, 1] and options["strides"] == [1, 1]:
            made = _product(image, window, out)
        else:
            make = getattr(bindings("dialects.linalg"), WINDOWS[op.name])
            made = make(image, window, outs=[out], **options)
        self.last[op.results[0]] = made
        return True

    def _filter(self, op: Any, value: Any) -> Any:
        """Return the weights of a convolution as HWCF, or HWC; an argument itself is permuted."""
        if value in self.filters:
            return self.filters[value]
        tensor = bindings("dialects.tensor")
        axes = FILTER if op.name == CONVOLUTION else (1, 2, 0)
        if op.name == CONVOLUTION and self._is_argument(value, CONVOLUTION):
            found = self._permute(value, axes)
        elif op.name == DEPTHWISE and self._is_flattened(value):
            argument = self._permute(value.owner.operands[0], DEPTHWISE_FILTER)
            kind = _type(value, _permuted(value.type.shape, axes))
            found = tensor.collapse_shape(kind, argument, [[0], [1], [2, 3]])
            self.replaced.append(value.owner)
        else:
            found = _transposed(value, axes)
        self.filters[value] = found
        return found

    def _is_argument(self, value: Any, user: str) -> bool:
        """Return whether a value is a weight that is only ever the second operand of some operations."""
        return self._is_weight(value) and all(
            use.operand_number == 1 and use.owner.name == user for use in value.uses
        )

    def _is_weight(self, value: Any) -> bool:
        return isinstance(value, bindings("ir").BlockArgument) and value.arg_number >= self.inputs

    def _is_flattened(self, value: Any) -> bool:
        """Return whether a value is a weight of C1HW without its axis of 1."""
        owner = value.owner
        if getattr(owner, "name", "") != "tensor.collapse_shape" or len(list(value.uses)) != 1:
            return False
        (argument,) = owner.operands
        shape = list(argument.type.shape)
        alone = self._is_weight(argument) and len(list(argument.uses)) == 1
        return alone and shape == [shape[0], 1, *value.type.shape[1:]]

    def _permute(self, argument: Any, axes: tuple[int, ...]) -> Any:
        """Give an argument of the function another order of axes."""
        ir = bindings("ir")
        argument.set_type(_type(argument, _permuted(argument.type.shape, axes)))
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
        if op.operands[0] not in self.last or inside or len(op.operands) > 1:
            return False
        new = op.clone()
        new.operands[0] = self.last[op.operands[0]]
        for name in ("static_low", "static_high"):
            numbers = _permuted(list(op.attributes[name]), LAST)
            new.attributes[name] = bindings("ir").DenseI64ArrayAttr.get(numbers)
        self._result(op, new, 0)
        return True

    def _generic(self, op: Any) -> bool:
        known = [number for number, operand in enumerate(op.operands) if operand in self.last]
        if not known or not all(isinstance(one.type, bindings("ir").ShapedType) for one in op.operands):
            return False
        maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
        inputs = op.attributes["operandSegmentSizes"][0]
        images = [maps[number] for number in known if number < inputs]
        follows = [_follows(one, images) for one in maps[inputs:]]
        if not images:
            return False
        operands = list(op.operands)
        for number, operand in enumerate(operands):
            if (number < inputs and operand in self.last) or (number >= inputs and follows[number - inputs]):
                operands[number] = self._as_last(operand)
                maps[number] = _map(maps[number], _permuted(maps[number].results, LAST))
            elif operand in self.last:
                operands[number] = self._as_first(operand)
        new = op.clone()
        for number, operand in enumerate(operands):
            new.operands[number] = operand
        _set_loops(new, maps, all(map(_is_image, images)))
        for number, follow in enumerate(follows):
            self._result(op, new, number, follow)
        return True

    def _result(self, op: Any, new: Any, number: int, is_last: bool = True) -> None:
        """Take a new operation's result in the place of an old one's."""
        old, value = op.results[number], new.results[number]
        if is_last:
            value.set_type(_type(old, _permuted(old.type.shape, LAST)))
            self.last[old] = value
        else:
            old.replace_all_uses_with(value)

    def _as_last(self, value: Any) -> Any:
        """Return a value as NHWC; what holds one number only is made so."""
        if value not in self.last:
            name = getattr(value.owner, "name", "")
            self.last[value] = _MADE[name](self, value) if name in _MADE else _transposed(value, LAST)
        return self.last[value]

    def _as_first(self, value: Any) -> Any:
        """Return a value as NCHW."""
        if value not in self.first:
            self.first[value] = _transposed(self.last[value], FIRST)
        return self.first[value]

    def _empty(self, value: Any) -> Any:
        return bindings("dialects.tensor").empty(_permuted(value.type.shape, LAST), value.type.element_type)

    def _fill(self, value: Any) -> Any:
        number, out = value.owner.operands
        return bindings("dialects.linalg").fill(number, outs=[self._as_last(out)])

    def _erase(self) -> None:
        for op in reversed(self.replaced):
            op.erase()


_MADE: Mapping[str, Callable[[_Rewriting, Any], Any]] = {
    "tensor.empty": _Rewriting._empty,
    "linalg.fill": _Rewriting._fill,
}


def _permuted(values: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    return [values[axis] for axis in axes]


def _type(value: Any, shape: Sequence[int]) -> Any:
    return bindings("ir").RankedTensorType.get(shape, value.type.element_type)


def _transposed(value: Any, axes: Sequence[int]) -> Any:
    """Transpose; where no element moves, reshape."""
    tensor, shape = bindings("dialects.tensor"), _permuted(value.type.shape, axes)
    moved = [axis for axis in axes if value.type.shape[axis] > 1]
    if moved == sorted(moved) and len(axes) == RANK:
        groups = [[0], [1, 2, 3]]
        flat = [shape[0], shape[1] * shape[2] * shape[3]]
        collapsed = tensor.collapse_shape(_type(value, flat), value, groups)
        return tensor.expand_shape(_type(value, shape), collapsed, groups, [], shape)
    empty = tensor.empty(shape, value.type.element_type)
    bindings("dialects.linalg").transpose(value, outs=[empty], permutation=list(axes))
    (op,) = [use.owner for use in empty.uses]
    return op.results[0]


def _product(image: Any, window: Any, out: Any) -> Any:
    """Return the convolution of single pixels: a product of a row for each with a column for each filter."""
    tensor, groups, shape = bindings("dialects.tensor"), [[0, 1, 2], [3]], list(out.type.shape)
    x, w, y = (
        tensor.collapse_shape(_type(one, [math.prod(one.type.shape[:3]), one.type.shape[3]]), one, groups)
        for one in (image, window, out)
    )
    product = bindings("dialects.linalg").matmul(x, w, outs=[y])
    return tensor.expand_shape(_type(out, shape), product, groups, [], shape)


def _map(one: Any, results: Sequence[Any]) -> Any:
    return bindings("ir").AffineMap.get(one.n_dims, 0, list(results))


def _is_image(one: Any) -> bool:
    """Return whether a map is that of an image whose elements are visited one by one."""
    return bool(one.n_dims == RANK and one == bindings("ir").AffineMap.get_identity(RANK))


def _follows(out: Any, images: Sequence[Any]) -> bool:
    """Return whether an output's axes are those of an image, or broadcast ones or sums of them."""
    constant = bindings("ir").AffineConstantExpr
    return len(out.results) == RANK and any(
        all(
            isinstance(one, constant) or isinstance(other, constant) or one == other
            for one, other in zip(out.results, image.results, strict=True)
        )
        for image in images
    )


def _set_loops(op: Any, maps: Sequence[Any], in_order: bool) -> None:
    """Set the maps of a linalg.generic; if asked for, its four loops are put in the order of NHWC, too."""
    ir = bindings("ir")
    if in_order:
        dims = [ir.AffineDimExpr.get(place) for place in FIRST]  # of each old loop, which it is now
        order = ir.AffineMap.get(RANK, 0, dims)
        maps = [_map(one, [expression.compose(order) for expression in one.results]) for one in maps]
        kinds = _permuted(list(op.attributes["iterator_types"]), LAST)
        op.attributes["iterator_types"] = ir.ArrayAttr.get(kinds)
        for inner in op.regions[0].blocks[0].operations:
            if inner.operation.name == "linalg.index":
                place = FIRST[int(inner.operation.attributes["dim"])]
                kind = ir.IntegerType.get_signless(64)
                inner.operation.attributes["dim"] = ir.IntegerAttr.get(kind, place)
    op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(one) for one in maps])
