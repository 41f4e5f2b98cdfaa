"""The ways in which a user of torch would write each family of nests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional

from loop_nests.own import OWN, Expression
from loop_nests.peers import Call, Maker, Tensors


def tensor(array: Any) -> Any:
    """Return a torch tensor that shares an array's memory."""
    return torch.from_numpy(array)


def matmul(t: Tensors) -> Call:
    return lambda: torch.mm(t.a, t.b, out=t.c)


def matmul_at(t: Tensors) -> Call:
    return lambda: torch.mm(t.a.T, t.b, out=t.c)


def matmul_bt(t: Tensors) -> Call:
    return lambda: torch.mm(t.a, t.b.T, out=t.c)


def linear(t: Tensors) -> Call:
    return lambda: functional.linear(t.a, t.b)


def batched_matmul(t: Tensors) -> Call:
    return lambda: torch.bmm(t.x, t.y, out=t.c)


def matmul_relu(t: Tensors) -> Call:
    return lambda: torch.addmm(t.s, t.a, t.b, out=t.r).relu_()


def conv1d(t: Tensors) -> Call:
    return lambda: functional.conv1d(t.a[None, None], t.w[None, None])[0, 0]


def conv1d_strided(t: Tensors) -> Call:
    return lambda: functional.conv1d(t.a[None, None], t.w[None, None], stride=2)[0, 0]


def windows(t: Tensors) -> Call:
    return lambda: torch.mv(t.a.unfold(0, t.w.shape[0], 1), t.w, out=t.o)


def windows_strided(t: Tensors) -> Call:
    return lambda: torch.mv(t.a.unfold(0, t.w.shape[0], 2), t.w, out=t.o)


def shifts(t: Tensors) -> Call:
    return _multiply_add(t, 1)


def shifts_strided(t: Tensors) -> Call:
    return _multiply_add(t, 2)


def conv2d(t: Tensors) -> Call:
    return _channels_last(t, 1)


def conv2d_strided(t: Tensors) -> Call:
    return _channels_last(t, 2)


def depthwise(t: Tensors) -> Call:
    image = t.a.permute(2, 0, 1)[None]  # channels last in memory
    weights = t.w.permute(2, 0, 1)[:, None].contiguous(memory_format=torch.channels_last)

    def call() -> Any:
        return functional.conv2d(image, weights, groups=image.shape[1])[0].permute(1, 2, 0)

    return call


def stencil5(t: Tensors) -> Call:
    a, o = t.a, t.o

    def call() -> Any:
        torch.add(a[1:-1, 1:-1], a[:-2, 1:-1], out=o)
        o.add_(a[2:, 1:-1]).add_(a[1:-1, :-2]).add_(a[1:-1, 2:])
        return o.mul_(0.2)

    return call


def stencil7(t: Tensors) -> Call:
    a, o = t.a, t.o

    def call() -> Any:
        torch.add(a[:-2, 1:-1, 1:-1], a[2:, 1:-1, 1:-1], out=o)
        o.add_(a[1:-1, :-2, 1:-1]).add_(a[1:-1, 2:, 1:-1]).add_(a[1:-1, 1:-1, :-2]).add_(a[1:-1, 1:-1, 2:])
        return o.mul_(0.08).add_(a[1:-1, 1:-1, 1:-1], alpha=0.5)

    return call


def stencil9_conv2d(t: Tensors) -> Call:
    return lambda: functional.conv2d(t.a[None, None], t.w[None, None])[0, 0]


def contraction_ab(t: Tensors) -> Call:
    (a, b, c, d), (_, _, e, f) = t.x.shape, t.y.shape
    flat = t.o.view(a * b, e * f)

    def call() -> Any:
        torch.mm(t.x.view(a * b, c * d), t.y.view(c * d, e * f), out=flat)
        return t.o

    return call


def contraction_ac(t: Tensors) -> Call:
    return lambda: torch.einsum("acbd,dcef->abef", t.x, t.y)


def relu_chain(t: Tensors) -> Call:
    return lambda: torch.addcmul(t.z, t.x, t.y, out=t.o).relu_().mul_(0.5)


def softmax(t: Tensors) -> Call:
    return lambda: torch.softmax(t.a, dim=1)


def sum_rows(t: Tensors) -> Call:
    return lambda: torch.sum(t.a, dim=1, out=t.r)


def sum_columns(t: Tensors) -> Call:
    return lambda: torch.sum(t.a, dim=0, out=t.r)


def max_rows(t: Tensors) -> Call:
    return lambda: torch.amax(t.a, dim=1, out=t.r)


def outer(t: Tensors) -> Call:
    return lambda: torch.outer(t.x, t.y, out=t.o)


def _multiply_add(t: Tensors, stride: int) -> Call:
    """Return a call that multiplies each weight by its part of `a` and adds; in 2-D only with stride 1."""
    if t.w.ndim == 1:
        length = stride * t.o.shape[0]
        parts = [(t.a[i : i + length : stride], t.w[i]) for i in range(t.w.shape[0])]
    else:
        height, width = t.o.shape
        places = [(i, j) for i in range(t.w.shape[0]) for j in range(t.w.shape[1])]
        parts = [(t.a[i : i + height, j : j + width], t.w[i, j]) for i, j in places]

    def call() -> Any:
        torch.mul(*parts[0], out=t.o)
        for part, weight in parts[1:]:
            t.o.addcmul_(part, weight)
        return t.o

    return call


def _channels_last(t: Tensors, stride: int) -> Call:
    image = t.a.permute(2, 0, 1)[None]  # channels last in memory
    weights = t.w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)

    def call() -> Any:
        return functional.conv2d(image, weights, stride=stride)[0].permute(1, 2, 0)

    return call


def _own(expression: Expression) -> Maker:
    def arrays(t: Tensors) -> Call:
        return lambda: expression.value(torch, t)

    return arrays


FORMS: Mapping[str, Sequence[Maker]] = {
    "matmul": (matmul,),
    "matmul-at": (matmul_at,),
    "matmul-bt": (matmul_bt, linear),
    "batched-matmul": (batched_matmul,),
    "matmul-relu": (matmul_relu,),
    "conv1d": (conv1d, windows, shifts),
    "conv1d-strided": (conv1d_strided, windows_strided, shifts_strided),
    "conv2d": (conv2d,),
    "conv2d-strided": (conv2d_strided,),
    "depthwise": (depthwise,),
    "stencil5": (stencil5,),
    "stencil7": (stencil7,),
    "stencil9": (stencil9_conv2d, shifts),
    "contraction-ab": (contraction_ab,),
    "contraction-ac": (contraction_ac,),
    "relu-chain": (relu_chain,),
    "softmax": (softmax,),
    "sum-rows": (sum_rows,),
    "sum-columns": (sum_columns,),
    "max-rows": (max_rows,),
    "outer": (outer,),
    **{name: (_own(expression),) for name, expression in OWN.items()},
}
