"""Layers of networks: each function adds the ops of one layer to a draft, and returns its result."""

from __future__ import annotations

import math
from typing import Literal

from burnish.tasks.mlir_schedules.writing.draft import LOWEST, Draft, Tensor, Window, extents_of, maps

Layout = Literal["nhwc", "nchw"]
Reduction = Literal["sum", "max"]

MATMULS = ("mk,kn->mn", "bmk,bkn->bmn")  # they need no maps
FILTERS = {"nhwc": "hwcf", "nchw": "fchw"}
EPSILON = 1e-5  # of torch's layer norm
LETTERS = "wxyz"  # for the dimensions of a tensor
SUM = ("arith.addf", "a", "o")
MAX = ("arith.maximumf", "a", "o")


def matmul(draft: Draft, left: Tensor, right: Tensor, spec: str = "mk,kn->mn") -> Tensor:
    """Add a product of matrices, or of batches of matrices; 'bmk,bnk->bmn' transposes the second ones."""
    extents = extents_of(spec, (left, right))
    out = draft.filled([extents[letter] for letter in spec.partition("->")[2]])
    op, order = ("batch_matmul", "bmnk") if "b" in extents else ("matmul", "mnk")
    attributes = "" if spec in MATMULS else f" indexing_maps = {maps(spec, order)}"
    return draft.named(op, (left, right), out, math.prod(extents.values()), attributes)


def conv2d(draft: Draft, image: Tensor, filters: int, window: Window, layout: Layout = "nhwc") -> Tensor:
    """Add a convolution without padding, and its weights: HWCF, for NCHW images FCHW."""
    known = {"h": window.side, "w": window.side, "c": image.shape[layout.index("c")], "f": filters}
    weights = draft.argument(*(known[letter] for letter in FILTERS[layout]))
    out = draft.filled(_moved(image, window, layout, filters))
    points = math.prod(out.shape) * math.prod(weights.shape) // filters
    op = f"conv_2d_{layout}_{FILTERS[layout]}"
    return draft.named(op, (image, weights), out, points, window.attributes)


def depthwise(draft: Draft, image: Tensor, window: Window, layout: Layout = "nhwc") -> Tensor:
    """Add a convolution of each channel separately, and its weights: HWC, for NCHW images CHW."""
    known = {"h": window.side, "w": window.side, "c": image.shape[layout.index("c")]}
    weights = draft.argument(*(known[letter] for letter in layout[1:]))
    out = draft.filled(_moved(image, window, layout, known["c"]))
    points = math.prod(out.shape) * window.side**2
    op = f"depthwise_conv_2d_{layout}_{layout[1:]}"
    return draft.named(op, (image, weights), out, points, window.attributes)


def pool(
    draft: Draft, image: Tensor, window: Window, reduction: Reduction = "max", layout: Layout = "nhwc"
) -> Tensor:
    """Add the maximum, or the sum, of each window's elements."""
    channels = image.shape[layout.index("c")]
    out = draft.filled(_moved(image, window, layout, channels), LOWEST if reduction == "max" else 0.0)
    points = math.prod(out.shape) * window.side**2
    operands = (image, draft.window(window))
    return draft.named(f"pooling_{layout}_{reduction}", operands, out, points, window.attributes)


def padded(draft: Draft, image: Tensor, by: int, layout: Layout = "nhwc") -> Tensor:
    """Add zeros around an image."""
    return draft.padded(image, [by if letter in "hw" else 0 for letter in layout])


def add(draft: Draft, left: Tensor, right: Tensor) -> Tensor:
    """Add a sum of two tensors of the same extents."""
    return draft.named("add", (left, right), left.shape, math.prod(left.shape))


def relu(draft: Draft, source: Tensor) -> Tensor:
    """Add the maximum of each element and 0."""
    letters = LETTERS[: len(source.shape)]
    return draft.generic(f"{letters}->{letters}", [source], ("arith.maximumf", "a", draft.constant(0.0)))


def scaled(draft: Draft, source: Tensor, factor: float) -> Tensor:
    """Add the product of each element and a factor."""
    letters = LETTERS[: len(source.shape)]
    return draft.generic(f"{letters}->{letters}", [source], ("arith.mulf", "a", draft.constant(factor)))


def bias(draft: Draft, source: Tensor, row: Tensor, along: int = -1, *, with_relu: bool = False) -> Tensor:
    """Add the sum of a tensor and a row along one dimension; with `with_relu`, its maximum with 0."""
    letters = LETTERS[: len(source.shape)]
    total = ("arith.addf", "a", "b")
    element = ("arith.maximumf", total, draft.constant(0.0)) if with_relu else total
    return draft.generic(f"{letters},{letters[along]}->{letters}", [source, row], element)


def softmax(draft: Draft, source: Tensor) -> Tensor:
    """Add a softmax over the last dimension."""
    last = len(source.shape) - 1
    points = 4 * math.prod(source.shape)  # the maximum, the exponentials, their sum, the quotients
    return draft.named("softmax", [source], source.shape, points, f" dimension({last})")


def layer_norm(draft: Draft, source: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Add a layer norm of each row: mean 0, variance 1, then a scale and a shift."""
    count = draft.constant(1.0 / source.shape[1])
    total = draft.generic("mn->m", [source], SUM, start=0.0)
    centred = draft.generic("mn,m->mn", [source, total], ("arith.subf", "a", ("arith.mulf", "b", count)))
    squares = draft.generic("mn->m", [centred], ("arith.addf", ("arith.mulf", "a", "a"), "o"), start=0.0)
    variance = ("arith.addf", ("arith.mulf", "b", count), draft.constant(EPSILON))
    unit = ("arith.mulf", "a", ("math.rsqrt", variance))
    element = ("arith.addf", ("arith.mulf", unit, "c"), "d")
    return draft.generic("mn,m,n,n->mn", [centred, squares, scale, shift], element)


def reduced(draft: Draft, source: Tensor, spec: str, reduction: Reduction = "sum") -> Tensor:
    """Add sums or maxima along dimensions: 'mn->m' has one for each row."""
    if reduction == "max":
        return draft.generic(spec, [source], MAX, start=LOWEST)
    return draft.generic(spec, [source], SUM, start=0.0)


def attention(draft: Draft, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Add attention: rows of `value`, weighed by the similarity of `query` and `key`."""
    scores = matmul(draft, query, key, "bmk,bnk->bmn")
    weights = softmax(draft, scaled(draft, scores, query.shape[2] ** -0.5))
    return matmul(draft, weights, value, "bmk,bkn->bmn")


def _moved(image: Tensor, window: Window, layout: Layout, channels: int) -> list[int]:
    """Return the extents of the result of moving a window over an image."""
    known = dict(zip(layout, image.shape, strict=True))
    extents = {"n": known["n"], "h": window.after(known["h"]), "w": window.after(known["w"]), "c": channels}
    return [extents[letter] for letter in layout]
