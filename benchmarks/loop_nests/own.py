"""Expressions of no family, as a user may have them, and their array code.

No similar nest was measured in the training of a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

Tensors = SimpleNamespace


@dataclass(frozen=True)
class Expression:
    """A nest's text, and a function that computes it with a module: numpy, torch or jax.numpy."""

    nest: str
    value: Callable[[Any, Tensors], Any]


def _gelu(xp: Any, t: Tensors) -> Any:
    return 0.5 * t.x * (1 + xp.tanh(0.7979 * (t.x + 0.0447 * t.x * t.x * t.x)))


def _layer_norm(xp: Any, t: Tensors) -> Any:
    centred = t.x - t.x.mean(1)[:, None]
    return centred / xp.sqrt((centred * centred).mean(1)[:, None] + 1e-5) * t.g


def _conv3d(xp: Any, t: Tensors) -> Any:
    shifts = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]
    return sum(t.w[i, j, k] * t.a[i : i + 40, j : j + 40, k : k + 40] for i, j, k in shifts)


def _distances(xp: Any, t: Tensors) -> Any:
    return (t.p * t.p).sum(1)[:, None] - 2 * (t.p @ t.q.T) + (t.q * t.q).sum(1)


def _pooled(xp: Any, t: Tensors) -> Any:
    top = xp.maximum(t.a[::2, ::2], t.a[::2, 1::2])
    return xp.maximum(top, xp.maximum(t.a[1::2, ::2], t.a[1::2, 1::2]))


OWN: Mapping[str, Expression] = {
    "mttkrp": Expression(
        "f32 i=64 j=32 k=48 r=32\nm[i,r] += x[i,j,k] * b[j,r] * c[k,r]",
        lambda xp, t: xp.einsum("jir,jr->ir", xp.einsum("ijk,kr->jir", t.x, t.c), t.b),
    ),
    "attention-scores": Expression(
        "f32 h=8 i=100 j=100 k=64\ns[h,i,j] += 0.125 * q[h,i,k] * y[h,j,k]",
        lambda xp, t: (0.125 * t.q) @ xp.swapaxes(t.y, 1, 2),
    ),
    "gram": Expression("f32 i=120 j=120 k=300\ng[i,j] += x[k,i] * x[k,j]", lambda xp, t: t.x.T @ t.x),
    "distances": Expression(
        "f32 i=200 j=150 k=24\nd[i,j] += (p[i,k] - q[j,k]) * (p[i,k] - q[j,k])", _distances
    ),
    "bilinear": Expression(
        "f32 b=64 i=80 j=80\no[b] += x[b,i] * w[i,j] * y[b,j]", lambda xp, t: ((t.x @ t.w) * t.y).sum(1)
    ),
    "conv3d": Expression(
        "f32 z=40 y=40 x=40 i=3 j=3 k=3\no[z,y,x] += a[z+i,y+j,x+k] * w[i,j,k]",
        _conv3d,
    ),
    "layer-norm": Expression(
        "f32 m=128 n=768\nu[m] += x[m,n]\nv[m] += (x[m,n] - u[m] / 768) * (x[m,n] - u[m] / 768)\n"
        "o[m,n] = (x[m,n] - u[m] / 768) / sqrt(v[m] / 768 + 0.00001) * g[n]",
        _layer_norm,
    ),
    "gelu": Expression(
        "f32 m=128 n=512\n"
        "o[m,n] = 0.5 * x[m,n] * (1 + tanh(0.7979 * (x[m,n] + 0.0447*x[m,n]*x[m,n]*x[m,n])))",
        _gelu,
    ),
    "max-pooling": Expression(
        "f32 y=28 x=28 c=64 i=2 j=2\no[y,x,c] max= a[2*y+i,2*x+j,c]",
        _pooled,
    ),
    "transposed-sum": Expression(
        "f32 i=500 j=400\no[j,i] = a[i,j] + b[j,i]",
        lambda xp, t: t.a.T + t.b,
    ),
}
