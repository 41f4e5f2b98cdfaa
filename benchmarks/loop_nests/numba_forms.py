"""The loops that a user of Numba would write for each family of nests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numba import njit

from burnish.tasks.loop_nests.parsing import parse
from loop_nests import numba_loops as loops
from loop_nests.numba_loops import A
from loop_nests.own import OWN, Expression
from loop_nests.own_loops import compiled
from loop_nests.peers import Call, Maker, Tensors

CONV1D = (loops.conv1d, loops.blocked_conv1d)
CONV2D = (loops.conv2d, loops.deep_conv2d, loops.tiled_conv2d)


def tensor(array: Any) -> Any:
    """Return the array."""
    return array


@njit(fastmath=True)
def stencil5(a: A, o: A) -> None:
    for y in range(o.shape[0]):
        for x in range(o.shape[1]):
            cross = a[y, x + 1] + a[y + 2, x + 1] + a[y + 1, x] + a[y + 1, x + 2]
            o[y, x] = a.dtype.type(0.2) * (a[y + 1, x + 1] + cross)


@njit(fastmath=True)
def stencil7(a: A, o: A) -> None:
    for z in range(o.shape[0]):
        for y in range(o.shape[1]):
            for x in range(o.shape[2]):
                sides = a[z, y + 1, x + 1] + a[z + 2, y + 1, x + 1] + a[z + 1, y, x + 1]
                sides += a[z + 1, y + 2, x + 1] + a[z + 1, y + 1, x] + a[z + 1, y + 1, x + 2]
                middle = a[z + 1, y + 1, x + 1]
                o[z, y, x] = a.dtype.type(0.5) * middle + a.dtype.type(0.08) * sides


@njit(fastmath=True)
def stencil9(a: A, w: A, o: A) -> None:
    w00, w01, w02, w10, w11, w12 = w[0, 0], w[0, 1], w[0, 2], w[1, 0], w[1, 1], w[1, 2]
    w20, w21, w22 = w[2, 0], w[2, 1], w[2, 2]
    for y in range(o.shape[0]):
        for x in range(o.shape[1]):
            first = a[y, x] * w00 + a[y, x + 1] * w01 + a[y, x + 2] * w02
            second = a[y + 1, x] * w10 + a[y + 1, x + 1] * w11 + a[y + 1, x + 2] * w12
            third = a[y + 2, x] * w20 + a[y + 2, x + 1] * w21 + a[y + 2, x + 2] * w22
            o[y, x] = first + second + third


@njit(fastmath=True)
def relu_chain(x: A, y: A, z: A, o: A) -> None:
    for n in range(o.shape[0]):
        o[n] = max(x[n] * y[n] + z[n], 0) * o.dtype.type(0.5)


@njit(fastmath=True)
def softmax(a: A, o: A) -> None:
    for m in range(a.shape[0]):
        highest = a[m, 0]
        for n in range(a.shape[1]):
            highest = max(highest, a[m, n])
        total = a.dtype.type(0)
        for n in range(a.shape[1]):
            o[m, n] = math.exp(a[m, n] - highest)
            total += o[m, n]
        scale = 1 / total
        for n in range(a.shape[1]):
            o[m, n] *= scale


@njit(fastmath=True)
def sum_rows(a: A, r: A) -> None:
    for m in range(a.shape[0]):
        total = a.dtype.type(0)
        for n in range(a.shape[1]):
            total += a[m, n]
        r[m] = total


@njit(fastmath=True)
def sum_columns(a: A, r: A) -> None:
    r[:] = 0
    for m in range(a.shape[0]):
        for n in range(a.shape[1]):
            r[n] += a[m, n]


@njit(fastmath=True)
def sum_columns_by_four(a: A, r: A) -> None:
    r[:] = 0
    whole = a.shape[0] - a.shape[0] % 4
    for m in range(0, whole, 4):
        for n in range(a.shape[1]):
            r[n] += (a[m, n] + a[m + 1, n]) + (a[m + 2, n] + a[m + 3, n])
    for m in range(whole, a.shape[0]):
        for n in range(a.shape[1]):
            r[n] += a[m, n]


@njit(fastmath=True)
def max_rows(a: A, r: A) -> None:
    """Keep 8 maxima, because the compiler vectorizes 8 but not a single one."""
    for m in range(a.shape[0]):
        row = a[m]
        h0 = h1 = h2 = h3 = h4 = h5 = h6 = h7 = row[0]
        whole = row.shape[0] // 8
        for n in range(whole):
            h0, h1 = max(h0, row[8 * n]), max(h1, row[8 * n + 1])
            h2, h3 = max(h2, row[8 * n + 2]), max(h3, row[8 * n + 3])
            h4, h5 = max(h4, row[8 * n + 4]), max(h5, row[8 * n + 5])
            h6, h7 = max(h6, row[8 * n + 6]), max(h7, row[8 * n + 7])
        for n in range(8 * whole, row.shape[0]):
            h0 = max(h0, row[n])
        r[m] = max(max(max(h0, h1), max(h2, h3)), max(max(h4, h5), max(h6, h7)))


@njit(fastmath=True)
def outer(x: A, y: A, o: A) -> None:
    for m in range(o.shape[0]):
        for n in range(o.shape[1]):
            o[m, n] = x[m] * y[n]


def _called(function: Callable[..., Any], names: str, *more: int) -> Maker:
    """Return a maker of calls of a function with some tensors, the output last, then some numbers."""

    def maker(t: Tensors) -> Call:
        arrays = [getattr(t, name) for name in names]
        output = arrays[-1]

        def call() -> Any:
            function(*arrays, *more)
            return output

        return call

    maker.__name__ = function.__name__
    return maker


def _flat(function: Callable[..., Any]) -> Maker:
    """Return a maker of calls of a matmul on the order-4 tensors of contraction-ab as matrices."""

    def maker(t: Tensors) -> Call:
        (a, b, c, d), (_, _, e, f) = t.x.shape, t.y.shape
        x, y, o = t.x.reshape(a * b, c * d), t.y.reshape(c * d, e * f), t.o.reshape(a * b, e * f)

        def call() -> Any:
            function(x, y, o)
            return t.o

        return call

    maker.__name__ = function.__name__
    return maker


def conv1d_of_three(t: Tensors) -> Call:
    """Use code for exactly three weights; other numbers of weights are added block by block."""
    function = loops.conv1d_of_three if t.w.shape[0] == 3 else loops.blocked_conv1d
    return _called(function, "awo", 2)(t)


def _own(expression: Expression) -> Maker:
    def each_iterator(t: Tensors) -> Call:
        nest = parse(expression.nest)
        function, given = compiled(nest), [getattr(t, name) for name in (*nest.inputs, *nest.written)]

        def call() -> Any:
            function(*given)
            return given[-1]

        return call

    return each_iterator


FORMS: Mapping[str, Sequence[Maker]] = {
    "matmul": (_called(loops.matmul, "abc"), _called(loops.deep_matmul, "abc")),
    "matmul-at": (_called(loops.matmul_at, "abc"), _called(loops.deep_matmul_at, "abc")),
    "matmul-bt": (_called(loops.matmul_bt, "abc"), _called(loops.deep_matmul_bt, "abc")),
    "batched-matmul": (_called(loops.batched_matmul, "xyc"), _called(loops.deep_batched_matmul, "xyc")),
    "matmul-relu": (_called(loops.matmul_relu, "absr"), _called(loops.deep_matmul_relu, "absr")),
    "conv1d": tuple(_called(each, "awo", 1) for each in CONV1D),
    "conv1d-strided": (*(_called(each, "awo", 2) for each in CONV1D), conv1d_of_three),
    "conv2d": tuple(_called(each, "awo", 1) for each in CONV2D),
    "conv2d-strided": tuple(_called(each, "awo", 2) for each in CONV2D),
    "depthwise": (_called(loops.depthwise, "awo"),),
    "stencil5": (_called(stencil5, "ao"),),
    "stencil7": (_called(stencil7, "ao"),),
    "stencil9": (_called(stencil9, "awo"),),
    "contraction-ab": (_flat(loops.matmul), _flat(loops.deep_matmul)),
    "contraction-ac": (_called(loops.contraction_ac, "xyo"), _called(loops.deep_contraction_ac, "xyo")),
    "relu-chain": (_called(relu_chain, "xyzo"),),
    "softmax": (_called(softmax, "ao"),),
    "sum-rows": (_called(sum_rows, "ar"),),
    "sum-columns": (_called(sum_columns, "ar"), _called(sum_columns_by_four, "ar")),
    "max-rows": (_called(max_rows, "ar"),),
    "outer": (_called(outer, "xyo"),),
    **{name: (_own(expression),) for name, expression in OWN.items()},
}
