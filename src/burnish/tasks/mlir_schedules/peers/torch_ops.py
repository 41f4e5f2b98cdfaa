"""The ways in which a user of torch would write each family of programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from burnish.tasks.mlir_schedules.writing.families import OF_BATCHES

EPSILON = 1e-5  # of layer norms


@dataclass(frozen=True)
class Op:
    """A function of tensors, and how it takes the program's arguments."""

    function: Callable[..., Any]
    name: str
    roles: str = ""  # of ops on images, a letter for each argument: i(mage), w(eights), d(epthwise weights)
    layout: str = ""  # of the program's images
    into: bool = False  # the function takes `out` and writes to it
    prepared: Callable[[Sequence[Tensor]], Sequence[Tensor]] = tuple  # puts weights into another layout


def _conv(image: Any, weights: Any, **how: Any) -> Any:
    return functional.conv2d(image, weights, **how)


def _conv_relu(image: Any, weights: Any) -> Any:
    return functional.conv2d(image, weights).relu_()


def _depthwise(image: Any, weights: Any, stride: int = 1) -> Any:
    return functional.conv2d(image, weights, stride=stride, groups=image.shape[1])


def _separable(image: Any, depthwise: Any, pointwise: Any) -> Any:
    return functional.conv2d(_depthwise(image, depthwise).relu_(), pointwise).relu_()


def _residual(image: Any, first: Any, second: Any) -> Any:
    value = functional.conv2d(image, first, padding=1).relu_()
    return functional.conv2d(value, second, padding=1).add_(image).relu_()


def _maxpool(image: Any, side: int = 2) -> Any:
    return functional.max_pool2d(image, side, stride=2)


def _sumpool(image: Any) -> Any:
    return functional.avg_pool2d(image, 2, stride=2, divisor_override=1)


def _addmm_relu(a: Any, b: Any, bias: Any) -> Any:
    return torch.addmm(bias, a, b).relu_()


def _linear_relu(a: Any, b: Any, bias: Any) -> Any:
    return functional.linear(a, b, bias).relu_()


def _mlp(value: Any, *weights: Any) -> Any:
    pairs = list(zip(weights[::2], weights[1::2], strict=True))
    for number, (matrix, bias) in enumerate(pairs):
        value = torch.addmm(bias, value.relu_() if number else value, matrix)
    return value


def _softmax_attention(query: Any, key: Any, value: Any) -> Any:
    scores = (query @ key.transpose(1, 2)) * query.shape[2] ** -0.5
    return scores.softmax(-1) @ value


def _layer_norm(a: Any, scale: Any, shift: Any) -> Any:
    return functional.layer_norm(a, a.shape[1:], scale, shift, EPSILON)


def _turned(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Transpose the second tensor, a weight matrix, to the layout of a linear layer."""
    return [tensors[0], tensors[1].t().contiguous(), *tensors[2:]]


def _images(function: Callable[..., Any], roles: str = "iw", layout: str = "nhwc") -> list[Op]:
    return [Op(function, name, roles, layout) for name in ("channels_last", "contiguous")]


def _plain(function: Callable[..., Any], into: Callable[..., Any] | None = None) -> list[Op]:
    written = [Op(into, "into", into=True)] if into else []
    return [Op(function, "new"), *written]


def _mm(a: Any, b: Any, *, out: Any = None) -> Any:
    return torch.mm(a, b, out=out)


FAMILIES: Mapping[str, Sequence[Op]] = {
    "matmul": _plain(torch.mm, _mm),
    "matmul-at": _plain(lambda a, b: a.t() @ b, lambda a, b, out: torch.mm(a.t(), b, out=out)),
    "matmul-bt": _plain(lambda a, b: a @ b.t(), lambda a, b, out: torch.mm(a, b.t(), out=out)),
    "batch-matmul": _plain(torch.bmm, lambda a, b, out: torch.bmm(a, b, out=out)),
    "batch-matmul-bt": _plain(
        lambda a, b: torch.bmm(a, b.transpose(1, 2)),
        lambda a, b, out: torch.bmm(a, b.transpose(1, 2), out=out),
    ),
    "matmul-relu": _plain(lambda a, b: (a @ b).relu_(), lambda a, b, out: torch.mm(a, b, out=out).relu_()),
    "matmul-bias-relu": [
        *_plain(_addmm_relu, lambda a, b, bias, out: torch.addmm(bias, a, b, out=out).relu_()),
        Op(_linear_relu, "linear", prepared=_turned),
    ],
    "mlp": _plain(_mlp),
    "attention": [
        Op(_softmax_attention, "softmax"),
        Op(functional.scaled_dot_product_attention, "scaled_dot_product_attention"),
    ],
    "conv2d": _images(_conv),
    "conv2d-1x1": _images(_conv),
    "conv2d-5x5": _images(_conv),
    "conv2d-strided": _images(partial(_conv, stride=2)),
    "conv2d-1x1-strided": _images(partial(_conv, stride=2)),
    "conv2d-7x7-strided": _images(partial(_conv, stride=2)),
    "conv2d-dilated": _images(partial(_conv, dilation=2)),
    "conv2d-nchw": _images(_conv, layout="nchw"),
    "conv2d-nchw-strided": _images(partial(_conv, stride=2), layout="nchw"),
    "conv2d-padded": _images(partial(_conv, padding=1)),
    "conv2d-relu": _images(_conv_relu),
    "depthwise": _images(_depthwise, "id"),
    "depthwise-strided": _images(partial(_depthwise, stride=2), "id"),
    "depthwise-nchw": _images(_depthwise, "id", "nchw"),
    "separable": _images(_separable, "idw"),
    "residual": _images(_residual, "iww"),
    "maxpool": _images(_maxpool, "i"),
    "maxpool-3x3": _images(partial(_maxpool, side=3), "i"),
    "maxpool-nchw": _images(_maxpool, "i", "nchw"),
    "sumpool": _images(_sumpool, "i"),
    "add": _plain(torch.add, lambda a, b, out: torch.add(a, b, out=out)),
    "relu": _plain(torch.relu, lambda a, out: torch.clamp_min(a, 0.0, out=out)),
    "bias-relu": _plain(
        lambda a, bias: (a + bias).relu_(), lambda a, bias, out: torch.add(a, bias, out=out).relu_()
    ),
    "softmax": _plain(lambda a: a.softmax(-1), lambda a, out: torch.softmax(a, -1, out=out)),
    "layer-norm": _plain(_layer_norm),
    "sum-rows": _plain(lambda a: a.sum(1), lambda a, out: torch.sum(a, 1, out=out)),
    "sum-columns": _plain(lambda a: a.sum(0), lambda a, out: torch.sum(a, 0, out=out)),
    "max-rows": _plain(lambda a: a.amax(1), lambda a, out: torch.amax(a, 1, out=out)),
    "transpose": _plain(lambda a: a.t().contiguous(), lambda a, out: out.copy_(a.t())),
}


def ops_of(name: str) -> Sequence[Op]:
    """Return the ways to write a program, by its name; () if it is of no family with such ways."""
    family, _, extents = name.partition(":")
    if family == OF_BATCHES:
        *_, stride, padding = map(int, extents.split("x"))
        return _images(partial(_conv, stride=stride, padding=padding), layout="nchw")
    return FAMILIES.get(family, ())
