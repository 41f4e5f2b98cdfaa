"""The ways in which a user of JAX would write each family of programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

EPSILON = 1e-5  # of layer norms
Layout = tuple[str, str, str]
NHWC: Layout = ("NHWC", "HWIO", "NHWC")
NCHW: Layout = ("NCHW", "OIHW", "NCHW")


@dataclass(frozen=True)
class Op:
    """A function of arrays, in the order of the program's arguments."""

    function: Callable[..., Any]
    name: str


def _conv(image: Any, weights: Any, layout: Layout = NHWC, stride: int = 1, **how: Any) -> Any:
    padding = how.pop("padding", "VALID")
    return lax.conv_general_dilated(
        image, weights, (stride, stride), padding, dimension_numbers=layout, **how
    )


def _depthwise(image: Any, weights: Any, layout: Layout = NHWC, stride: int = 1) -> Any:
    channels = image.shape[layout[0].index("C")]
    filters = weights[:, :, None] if layout == NHWC else weights[:, None]
    return _conv(image, filters, layout, stride, feature_group_count=channels)


def _shifts(image: Any, weights: Any, stride: int = 1) -> Any:
    """Return a depthwise convolution of an NHWC image as a sum of its shifted elements."""
    high, wide = ((n - k) // stride + 1 for n, k in zip(image.shape[1:3], weights.shape[:2], strict=True))
    return sum(
        image[:, i : i + (high - 1) * stride + 1 : stride, j : j + (wide - 1) * stride + 1 : stride]
        * weights[i, j]
        for i in range(weights.shape[0])
        for j in range(weights.shape[1])
    )


def _conv_relu(image: Any, weights: Any) -> Any:
    return jax.nn.relu(_conv(image, weights))


def _separable(image: Any, depthwise: Any, pointwise: Any, filtered: Any = _depthwise) -> Any:
    return jax.nn.relu(_conv(jax.nn.relu(filtered(image, depthwise)), pointwise))


def _residual(image: Any, first: Any, second: Any) -> Any:
    value = jax.nn.relu(_conv(image, first, padding="SAME"))
    return jax.nn.relu(_conv(value, second, padding="SAME") + image)


def _pool(image: Any, side: int = 2, largest: bool = True, layout: str = "nhwc") -> Any:
    window, strides = ([by if letter in "hw" else 1 for letter in layout] for by in (side, 2))
    first, combine = (-jnp.inf, lax.max) if largest else (0.0, lax.add)
    return lax.reduce_window(image, first, combine, window, strides, "VALID")


def _pool_shifts(image: Any, side: int = 2, largest: bool = True) -> Any:
    """Return a pool of an NHWC image that combines the elements of each window one after the other."""
    high, wide = ((extent - side) // 2 + 1 for extent in image.shape[1:3])
    parts = [
        image[:, i : i + 2 * high - 1 : 2, j : j + 2 * wide - 1 : 2] for i in range(side) for j in range(side)
    ]
    found = parts[0]
    for part in parts[1:]:
        found = jnp.maximum(found, part) if largest else found + part
    return found


def _mlp(value: Any, *weights: Any) -> Any:
    for number, (matrix, bias) in enumerate(zip(weights[::2], weights[1::2], strict=True)):
        value = (jax.nn.relu(value) if number else value) @ matrix + bias
    return value


def _attention(query: Any, key: Any, value: Any) -> Any:
    scores = jnp.einsum("bmk,bnk->bmn", query, key) * query.shape[2] ** -0.5
    return jax.nn.softmax(scores, axis=-1) @ value


def _layer_norm(a: Any, scale: Any, shift: Any) -> Any:
    centred = a - a.mean(1, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(1, keepdims=True) + EPSILON) * scale + shift


def _one(function: Callable[..., Any], name: str = "jit") -> list[Op]:
    return [Op(function, name)]


FAMILIES: Mapping[str, Sequence[Op]] = {
    "matmul": _one(jnp.matmul),
    "matmul-at": _one(lambda a, b: a.T @ b),
    "matmul-bt": _one(lambda a, b: a @ b.T),
    "batch-matmul": _one(jnp.matmul),
    "batch-matmul-bt": _one(lambda a, b: jnp.einsum("bmk,bnk->bmn", a, b)),
    "matmul-relu": _one(lambda a, b: jax.nn.relu(a @ b)),
    "matmul-bias-relu": _one(lambda a, b, bias: jax.nn.relu(a @ b + bias)),
    "mlp": _one(_mlp),
    "attention": _one(_attention),
    "conv2d": _one(_conv),
    "conv2d-1x1": [*_one(_conv), Op(lambda a, w: jnp.einsum("nhwc,cf->nhwf", a, w[0, 0]), "einsum")],
    "conv2d-5x5": _one(_conv),
    "conv2d-strided": _one(partial(_conv, stride=2)),
    "conv2d-1x1-strided": _one(partial(_conv, stride=2)),
    "conv2d-7x7-strided": _one(partial(_conv, stride=2)),
    "conv2d-dilated": _one(partial(_conv, rhs_dilation=(2, 2))),
    "conv2d-nchw": _one(partial(_conv, layout=NCHW)),
    "conv2d-nchw-strided": _one(partial(_conv, layout=NCHW, stride=2)),
    "conv2d-padded": _one(partial(_conv, padding="SAME")),
    "conv2d-relu": _one(_conv_relu),
    "depthwise": [*_one(_depthwise), Op(_shifts, "shifts")],
    "depthwise-strided": [*_one(partial(_depthwise, stride=2)), Op(partial(_shifts, stride=2), "shifts")],
    "depthwise-nchw": _one(partial(_depthwise, layout=NCHW)),
    "separable": [*_one(_separable), Op(partial(_separable, filtered=_shifts), "shifts")],
    "residual": _one(_residual),
    "maxpool": [*_one(_pool), Op(_pool_shifts, "shifts")],
    "maxpool-3x3": [*_one(partial(_pool, side=3)), Op(partial(_pool_shifts, side=3), "shifts")],
    "maxpool-nchw": _one(partial(_pool, layout="nchw")),
    "sumpool": [*_one(partial(_pool, largest=False)), Op(partial(_pool_shifts, largest=False), "shifts")],
    "add": _one(jnp.add),
    "relu": _one(jax.nn.relu),
    "bias-relu": _one(lambda a, bias: jax.nn.relu(a + bias)),
    "softmax": _one(lambda a: jax.nn.softmax(a, axis=-1)),
    "layer-norm": _one(_layer_norm),
    "sum-rows": _one(lambda a: a.sum(1)),
    "sum-columns": _one(lambda a: a.sum(0)),
    "max-rows": _one(lambda a: a.max(1)),
    "transpose": _one(lambda a: a.T.copy()),
}
