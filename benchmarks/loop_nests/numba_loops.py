"""The loops of numba_forms: in cache-friendly order, and with several steps of a reduction at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

A = NDArray[Any]


@njit(fastmath=True)
def matmul(a: A, b: A, c: A) -> None:
    for i in range(a.shape[0]):
        c[i, :] = 0
        for k in range(a.shape[1]):
            value = a[i, k]
            for j in range(b.shape[1]):
                c[i, j] += value * b[k, j]


@njit(fastmath=True)
def matmul_at(a: A, b: A, c: A) -> None:
    for i in range(a.shape[1]):
        c[i, :] = 0
        for k in range(a.shape[0]):
            value = a[k, i]
            for j in range(b.shape[1]):
                c[i, j] += value * b[k, j]


@njit(fastmath=True)
def matmul_bt(a: A, b: A, c: A) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = a.dtype.type(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[j, k]
            c[i, j] = total


@njit(fastmath=True)
def deep_matmul(a: A, b: A, c: A) -> None:
    """Take 8 steps of the reduction at a time, so that a row of `c` is loaded and stored once for all 8."""
    whole = a.shape[1] - a.shape[1] % 8
    for i in range(a.shape[0]):
        c[i, :] = 0
        for k in range(0, whole, 8):
            a0, a1, a2, a3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            a4, a5, a6, a7 = a[i, k + 4], a[i, k + 5], a[i, k + 6], a[i, k + 7]
            for j in range(b.shape[1]):
                first = (a0 * b[k, j] + a1 * b[k + 1, j]) + (a2 * b[k + 2, j] + a3 * b[k + 3, j])
                second = (a4 * b[k + 4, j] + a5 * b[k + 5, j]) + (a6 * b[k + 6, j] + a7 * b[k + 7, j])
                c[i, j] += first + second
        for k in range(whole, a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@njit(fastmath=True)
def batched_matmul(x: A, y: A, c: A) -> None:
    for n in range(x.shape[0]):
        matmul(x[n], y[n], c[n])


@njit(fastmath=True)
def deep_batched_matmul(x: A, y: A, c: A) -> None:
    for n in range(x.shape[0]):
        deep_matmul(x[n], y[n], c[n])


@njit(fastmath=True)
def relu_rows(s: A, r: A) -> None:
    for i in range(r.shape[0]):
        for j in range(r.shape[1]):
            r[i, j] = max(r[i, j] + s[j], 0)


@njit(fastmath=True)
def matmul_relu(a: A, b: A, s: A, r: A) -> None:
    matmul(a, b, r)
    relu_rows(s, r)


@njit(fastmath=True)
def deep_matmul_relu(a: A, b: A, s: A, r: A) -> None:
    deep_matmul(a, b, r)
    relu_rows(s, r)


@njit(fastmath=True)
def deep_matmul_at(a: A, b: A, c: A) -> None:
    deep_matmul(np.ascontiguousarray(a.T), b, c)


@njit(fastmath=True)
def deep_matmul_bt(a: A, b: A, c: A) -> None:
    deep_matmul(a, np.ascontiguousarray(b.T), c)


@njit(fastmath=True)
def contraction_ac(x: A, y: A, o: A) -> None:
    for a in range(x.shape[0]):
        for b in range(x.shape[2]):
            o[a, b] = 0
            for d in range(y.shape[0]):
                for c in range(y.shape[1]):
                    value = x[a, c, b, d]
                    for e in range(y.shape[2]):
                        for f in range(y.shape[3]):
                            o[a, b, e, f] += value * y[d, c, e, f]


@njit(fastmath=True)
def deep_contraction_ac(x: A, y: A, o: A) -> None:
    a, c, b, d = x.shape
    flat = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).reshape(a * b, d * c)
    columns = y.shape[2] * y.shape[3]
    deep_matmul(flat, y.reshape(d * c, columns), o.reshape(a * b, columns))


@njit(fastmath=True)
def conv1d(a: A, w: A, o: A, stride: int) -> None:
    for x in range(o.shape[0]):
        total = a.dtype.type(0)
        for i in range(w.shape[0]):
            total += a[stride * x + i] * w[i]
        o[x] = total


@njit(fastmath=True)
def blocked_conv1d(a: A, w: A, o: A, stride: int) -> None:
    """Add one weight's products to a part of the output that stays in the L1 cache.

    Slices begin at 0, so that the compiler sees that no index is negative. Strides are constants, so that the
    compiler can vectorize the loops.
    """
    for begin in range(0, o.shape[0], 1024):
        part = o[begin : begin + 1024]
        part[:] = 0
        for i in range(w.shape[0]):
            weight, seen = w[i], a[stride * begin + i :]
            if stride == 1:
                for x in range(part.shape[0]):
                    part[x] += seen[x] * weight
            else:
                for x in range(part.shape[0]):
                    part[x] += seen[2 * x] * weight


@njit(fastmath=True)
def conv1d_of_three(a: A, w: A, o: A, stride: int) -> None:
    w0, w1, w2 = w[0], w[1], w[2]
    if stride == 1:
        for x in range(o.shape[0]):
            o[x] = w0 * a[x] + w1 * a[x + 1] + w2 * a[x + 2]
    else:
        for x in range(o.shape[0]):
            o[x] = w0 * a[2 * x] + w1 * a[2 * x + 1] + w2 * a[2 * x + 2]


@njit(fastmath=True)
def conv2d(a: A, w: A, o: A, stride: int) -> None:
    for y in range(o.shape[0]):
        for x in range(o.shape[1]):
            o[y, x] = 0
            for i in range(w.shape[0]):
                for j in range(w.shape[1]):
                    for c in range(w.shape[2]):
                        value = a[stride * y + i, stride * x + j, c]
                        for f in range(w.shape[3]):
                            o[y, x, f] += value * w[i, j, c, f]


@njit(fastmath=True)
def deep_conv2d(a: A, w: A, o: A, stride: int) -> None:
    """Take 4 channels at a time, so that the output is loaded and stored once for all 4."""
    whole = w.shape[2] - w.shape[2] % 4
    for y in range(o.shape[0]):
        for x in range(o.shape[1]):
            o[y, x] = 0
            for i in range(w.shape[0]):
                for j in range(w.shape[1]):
                    place = a[stride * y + i, stride * x + j]
                    for c in range(0, whole, 4):
                        a0, a1, a2, a3 = place[c], place[c + 1], place[c + 2], place[c + 3]
                        for f in range(w.shape[3]):
                            first = a0 * w[i, j, c, f] + a1 * w[i, j, c + 1, f]
                            o[y, x, f] += first + (a2 * w[i, j, c + 2, f] + a3 * w[i, j, c + 3, f])
                    for c in range(whole, w.shape[2]):
                        for f in range(w.shape[3]):
                            o[y, x, f] += place[c] * w[i, j, c, f]


@njit(fastmath=True)
def tiled_conv2d(a: A, w: A, o: A, stride: int) -> None:
    """Compute 4 positions at a time, so that a weight is loaded once for all 4."""
    filters, whole = w.shape[3], o.shape[1] - o.shape[1] % 4
    for y in range(o.shape[0]):
        o[y] = 0
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                for x in range(0, whole, 4):
                    for c in range(w.shape[2]):
                        a0 = a[stride * y + i, stride * x + j, c]
                        a1 = a[stride * y + i, stride * (x + 1) + j, c]
                        a2 = a[stride * y + i, stride * (x + 2) + j, c]
                        a3 = a[stride * y + i, stride * (x + 3) + j, c]
                        for f in range(filters):
                            weight = w[i, j, c, f]
                            o[y, x, f] += a0 * weight
                            o[y, x + 1, f] += a1 * weight
                            o[y, x + 2, f] += a2 * weight
                            o[y, x + 3, f] += a3 * weight
                for x in range(whole, o.shape[1]):
                    for c in range(w.shape[2]):
                        for f in range(filters):
                            o[y, x, f] += a[stride * y + i, stride * x + j, c] * w[i, j, c, f]


@njit(fastmath=True)
def depthwise(a: A, w: A, o: A) -> None:
    for y in range(o.shape[0]):
        for x in range(o.shape[1]):
            for c in range(o.shape[2]):
                total = a.dtype.type(0)
                for i in range(3):
                    for j in range(3):
                        total += a[y + i, x + j, c] * w[i, j, c]
                o[y, x, c] = total
