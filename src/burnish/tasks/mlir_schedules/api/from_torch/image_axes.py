"""Values, maps and loops of images whose axes are reordered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from burnish.tasks.mlir_schedules.bindings import bindings

LAST = (0, 2, 3, 1)  # NCHW to NHWC
FIRST = (0, 3, 1, 2)
RANK = 4


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
