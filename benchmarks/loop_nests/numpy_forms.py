"""The ways in which a user of NumPy would write each family of nests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from loop_nests.own import OWN, Expression
from loop_nests.peers import Call, Maker, Tensors


def tensor(array: Any) -> Any:
    """Return the array."""
    return array


def matmul(t: Tensors) -> Call:
    return lambda: np.matmul(t.a, t.b, out=t.c)


def matmul_at(t: Tensors) -> Call:
    return lambda: np.matmul(t.a.T, t.b, out=t.c)


def matmul_bt(t: Tensors) -> Call:
    return lambda: np.matmul(t.a, t.b.T, out=t.c)


def batched_matmul(t: Tensors) -> Call:
    return lambda: np.matmul(t.x, t.y, out=t.c)


def matmul_relu(t: Tensors) -> Call:
    def call() -> Any:
        np.matmul(t.a, t.b, out=t.r)
        np.add(t.r, t.s, out=t.r)
        return np.maximum(t.r, 0, out=t.r)

    return call


def correlate(t: Tensors) -> Call:
    return lambda: np.correlate(t.a, t.w, "valid")


def correlate_strided(t: Tensors) -> Call:
    return lambda: np.correlate(t.a, t.w, "valid")[::2]


def windows(t: Tensors) -> Call:
    return lambda: np.matmul(sliding_window_view(t.a, t.w.shape), t.w, out=t.o)


def windows_strided(t: Tensors) -> Call:
    return lambda: np.matmul(sliding_window_view(t.a, t.w.shape)[::2], t.w, out=t.o)


def shifts(t: Tensors) -> Call:
    return _multiply_add(t, 1)


def shifts_strided(t: Tensors) -> Call:
    return _multiply_add(t, 2)


def conv2d_einsum(t: Tensors) -> Call:
    return _contracted_windows(t, 1)


def conv2d_einsum_strided(t: Tensors) -> Call:
    return _contracted_windows(t, 2)


def conv2d_matmuls(t: Tensors) -> Call:
    return _summed_matmuls(t, 1)


def conv2d_matmuls_strided(t: Tensors) -> Call:
    return _summed_matmuls(t, 2)


def depthwise_einsum(t: Tensors) -> Call:
    def call() -> Any:
        seen = sliding_window_view(t.a, t.w.shape[:2], axis=(0, 1))
        return np.einsum("yxcij,ijc->yxc", seen, t.w, out=t.o)

    return call


def stencil9_einsum(t: Tensors) -> Call:
    return lambda: np.einsum("yxij,ij->yx", sliding_window_view(t.a, t.w.shape), t.w, out=t.o)


def stencil5(t: Tensors) -> Call:
    a, o = t.a, t.o

    def call() -> Any:
        np.add(a[1:-1, 1:-1], a[:-2, 1:-1], out=o)
        np.add(o, a[2:, 1:-1], out=o)
        np.add(o, a[1:-1, :-2], out=o)
        np.add(o, a[1:-1, 2:], out=o)
        return np.multiply(o, 0.2, out=o)

    return call


def stencil7(t: Tensors) -> Call:
    a, o = t.a, t.o
    middle = np.empty_like(o)

    def call() -> Any:
        np.add(a[:-2, 1:-1, 1:-1], a[2:, 1:-1, 1:-1], out=o)
        np.add(o, a[1:-1, :-2, 1:-1], out=o)
        np.add(o, a[1:-1, 2:, 1:-1], out=o)
        np.add(o, a[1:-1, 1:-1, :-2], out=o)
        np.add(o, a[1:-1, 1:-1, 2:], out=o)
        np.multiply(o, 0.08, out=o)
        np.multiply(a[1:-1, 1:-1, 1:-1], 0.5, out=middle)
        return np.add(o, middle, out=o)

    return call


def contraction_ab(t: Tensors) -> Call:
    (a, b, c, d), (_, _, e, f) = t.x.shape, t.y.shape
    flat = t.o.reshape(a * b, e * f)

    def call() -> Any:
        np.matmul(t.x.reshape(a * b, c * d), t.y.reshape(c * d, e * f), out=flat)
        return t.o

    return call


def contraction_ac(t: Tensors) -> Call:
    return lambda: np.einsum("acbd,dcef->abef", t.x, t.y, out=t.o, optimize=True)


def contraction_ac_matmul(t: Tensors) -> Call:
    (a, c, b, d), (_, _, e, f) = t.x.shape, t.y.shape
    flat = t.o.reshape(a * b, e * f)

    def call() -> Any:
        left = t.x.transpose(0, 2, 3, 1).reshape(a * b, d * c)
        np.matmul(left, t.y.reshape(d * c, e * f), out=flat)
        return t.o

    return call


def relu_chain(t: Tensors) -> Call:
    def call() -> Any:
        np.multiply(t.x, t.y, out=t.o)
        np.add(t.o, t.z, out=t.o)
        np.maximum(t.o, 0, out=t.o)
        return np.multiply(t.o, 0.5, out=t.o)

    return call


def softmax(t: Tensors) -> Call:
    def call() -> Any:
        np.subtract(t.a, t.a.max(axis=1, keepdims=True), out=t.o)
        np.exp(t.o, out=t.o)
        return np.divide(t.o, t.o.sum(axis=1, keepdims=True), out=t.o)

    return call


def sum_rows(t: Tensors) -> Call:
    return lambda: np.sum(t.a, axis=1, out=t.r)


def sum_rows_einsum(t: Tensors) -> Call:
    return lambda: np.einsum("mn->m", t.a, out=t.r)


def sum_columns(t: Tensors) -> Call:
    return lambda: np.sum(t.a, axis=0, out=t.r)


def sum_columns_einsum(t: Tensors) -> Call:
    return lambda: np.einsum("mn->n", t.a, out=t.r)


def max_rows(t: Tensors) -> Call:
    return lambda: np.max(t.a, axis=1, out=t.r)


def outer(t: Tensors) -> Call:
    return lambda: np.multiply(t.x[:, None], t.y, out=t.o)


def outer_einsum(t: Tensors) -> Call:
    return lambda: np.einsum("m,n->mn", t.x, t.y, out=t.o)


def _multiply_add(t: Tensors, stride: int) -> Call:
    """Return a call that multiplies each weight by its part of `a` and adds: a convolution or stencil."""
    extents = t.o.shape[: min(t.w.ndim, 2)]
    met = list(np.ndindex(*t.w.shape[: len(extents)]))
    parts = [
        t.a[tuple(slice(i, i + stride * n, stride) for i, n in zip(index, extents, strict=True))]
        for index in met
    ]
    product = np.empty_like(t.o)

    def call() -> Any:
        np.multiply(parts[0], t.w[met[0]], out=t.o)
        for part, index in zip(parts[1:], met[1:], strict=True):
            np.multiply(part, t.w[index], out=product)
            np.add(t.o, product, out=t.o)
        return t.o

    return call


def _contracted_windows(t: Tensors, stride: int) -> Call:
    def call() -> Any:
        seen = sliding_window_view(t.a, t.w.shape[:2], axis=(0, 1))[::stride, ::stride]
        return np.einsum("yxcij,ijcf->yxf", seen, t.w, out=t.o, optimize=True)

    return call


def _summed_matmuls(t: Tensors, stride: int) -> Call:
    """Return a call that adds a matmul for each position of the weights."""
    height, width, _ = t.o.shape
    places = list(np.ndindex(*t.w.shape[:2]))
    parts = [t.a[i : i + stride * height : stride, j : j + stride * width : stride] for i, j in places]
    product = np.empty_like(t.o)

    def call() -> Any:
        np.matmul(parts[0], t.w[0, 0], out=t.o)
        for part, place in zip(parts[1:], places[1:], strict=True):
            np.matmul(part, t.w[place], out=product)
            np.add(t.o, product, out=t.o)
        return t.o

    return call


def _own(expression: Expression) -> Maker:
    def arrays(t: Tensors) -> Call:
        return lambda: expression.value(np, t)

    return arrays


FORMS: Mapping[str, Sequence[Maker]] = {
    "matmul": (matmul,),
    "matmul-at": (matmul_at,),
    "matmul-bt": (matmul_bt,),
    "batched-matmul": (batched_matmul,),
    "matmul-relu": (matmul_relu,),
    "conv1d": (correlate, windows, shifts),
    "conv1d-strided": (correlate_strided, windows_strided, shifts_strided),
    "conv2d": (conv2d_einsum, conv2d_matmuls),
    "conv2d-strided": (conv2d_einsum_strided, conv2d_matmuls_strided),
    "depthwise": (depthwise_einsum, shifts),
    "stencil5": (stencil5,),
    "stencil7": (stencil7,),
    "stencil9": (stencil9_einsum, shifts),
    "contraction-ab": (contraction_ab,),
    "contraction-ac": (contraction_ac, contraction_ac_matmul),
    "relu-chain": (relu_chain,),
    "softmax": (softmax,),
    "sum-rows": (sum_rows, sum_rows_einsum),
    "sum-columns": (sum_columns, sum_columns_einsum),
    "max-rows": (max_rows,),
    "outer": (outer, outer_einsum),
    **{name: (_own(expression),) for name, expression in OWN.items()},
}
