"""The ways in which a user of JAX would write each family of nests, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

from loop_nests.own import OWN, Expression
from loop_nests.peers import Call, Maker, Tensors

# Otherwise JAX computes in another thread, and that thread's latency exceeds the time of small nests.
jax.config.update("jax_cpu_enable_async_dispatch", False)


def tensor(array: Any) -> Any:
    """Return a JAX array with the same elements."""
    return jax.device_put(array)


def _compiled(function: Callable[..., Any], *names: str) -> Maker:
    """Return a maker of calls of a compiled function with some tensors; a call waits for the result."""

    def maker(t: Tensors) -> Call:
        arrays = [getattr(t, name) for name in names]
        compiled = jax.jit(function)
        return lambda: compiled(*arrays).block_until_ready()

    maker.__name__ = getattr(function, "__name__", "") or function.func.__name__  # type: ignore[attr-defined]
    return maker


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def matmul_at(a: Any, b: Any) -> Any:
    return a.T @ b


def matmul_bt(a: Any, b: Any) -> Any:
    return a @ b.T


def matmul_relu(a: Any, b: Any, s: Any) -> Any:
    return jax.nn.relu(a @ b + s)


def conv1d(a: Any, w: Any, stride: int = 1) -> Any:
    return lax.conv_general_dilated(a[None, None], w[None, None], (stride,), "VALID")[0, 0]


def shifts1d(a: Any, w: Any, stride: int = 1) -> Any:
    length = a.shape[0] - w.shape[0] + 1
    return sum(a[i : i + length : stride] * w[i] for i in range(w.shape[0]))


def conv2d(a: Any, w: Any, stride: int = 1) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(a[None], w, (stride, stride), "VALID", dimension_numbers=layout)[0]


def conv2d_einsums(a: Any, w: Any, stride: int = 1) -> Any:
    height, width = (n - k + 1 for n, k in zip(a.shape, w.shape[:2], strict=False))
    return sum(
        a[i : i + height : stride, j : j + width : stride] @ w[i, j]
        for i in range(w.shape[0])
        for j in range(w.shape[1])
    )


def depthwise(a: Any, w: Any) -> Any:
    channels = a.shape[-1]
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        a[None], w[:, :, None], (1, 1), "VALID", dimension_numbers=layout, feature_group_count=channels
    )[0]


def shifts2d(a: Any, w: Any) -> Any:
    height, width = (n - k + 1 for n, k in zip(a.shape, w.shape[:2], strict=False))
    return sum(
        a[i : i + height, j : j + width] * w[i, j] for i in range(w.shape[0]) for j in range(w.shape[1])
    )


def stencil5(a: Any) -> Any:
    return 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def stencil7(a: Any) -> Any:
    sides = a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
    sides += a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]
    return 0.5 * a[1:-1, 1:-1, 1:-1] + 0.08 * sides


def stencil9_conv2d(a: Any, w: Any) -> Any:
    return lax.conv_general_dilated(a[None, None], w[None, None], (1, 1), "VALID")[0, 0]


def contraction_ab(x: Any, y: Any) -> Any:
    return jnp.einsum("abcd,cdef->abef", x, y)


def contraction_ac(x: Any, y: Any) -> Any:
    return jnp.einsum("acbd,dcef->abef", x, y)


def relu_chain(x: Any, y: Any, z: Any) -> Any:
    return jax.nn.relu(x * y + z) * 0.5


def softmax(a: Any) -> Any:
    return jax.nn.softmax(a, axis=1)


def sum_rows(a: Any) -> Any:
    return a.sum(axis=1)


def sum_columns(a: Any) -> Any:
    return a.sum(axis=0)


def max_rows(a: Any) -> Any:
    return a.max(axis=1)


def outer(x: Any, y: Any) -> Any:
    return jnp.outer(x, y)


def _own(expression: Expression) -> Maker:
    def arrays(t: Tensors) -> Call:
        compiled, given = jax.jit(lambda given: expression.value(jnp, SimpleNamespace(**given))), vars(t)
        return lambda: compiled(given).block_until_ready()

    return arrays


FORMS: Mapping[str, Sequence[Maker]] = {
    "matmul": (_compiled(matmul, "a", "b"),),
    "matmul-at": (_compiled(matmul_at, "a", "b"),),
    "matmul-bt": (_compiled(matmul_bt, "a", "b"),),
    "batched-matmul": (_compiled(matmul, "x", "y"),),
    "matmul-relu": (_compiled(matmul_relu, "a", "b", "s"),),
    "conv1d": (_compiled(conv1d, "a", "w"), _compiled(shifts1d, "a", "w")),
    "conv1d-strided": (
        _compiled(partial(conv1d, stride=2), "a", "w"),
        _compiled(partial(shifts1d, stride=2), "a", "w"),
    ),
    "conv2d": (_compiled(conv2d, "a", "w"), _compiled(conv2d_einsums, "a", "w")),
    "conv2d-strided": (
        _compiled(partial(conv2d, stride=2), "a", "w"),
        _compiled(partial(conv2d_einsums, stride=2), "a", "w"),
    ),
    "depthwise": (_compiled(depthwise, "a", "w"), _compiled(shifts2d, "a", "w")),
    "stencil5": (_compiled(stencil5, "a"),),
    "stencil7": (_compiled(stencil7, "a"),),
    "stencil9": (_compiled(stencil9_conv2d, "a", "w"), _compiled(shifts2d, "a", "w")),
    "contraction-ab": (_compiled(contraction_ab, "x", "y"),),
    "contraction-ac": (_compiled(contraction_ac, "x", "y"),),
    "relu-chain": (_compiled(relu_chain, "x", "y", "z"),),
    "softmax": (_compiled(softmax, "a"),),
    "sum-rows": (_compiled(sum_rows, "a"),),
    "sum-columns": (_compiled(sum_columns, "a"),),
    "max-rows": (_compiled(max_rows, "a"),),
    "outer": (_compiled(outer, "x", "y"),),
    **{name: (_own(expression),) for name, expression in OWN.items()},
}
