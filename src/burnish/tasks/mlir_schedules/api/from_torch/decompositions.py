"""Decompositions of torch's layers into operations of linalg on floats only."""

from __future__ import annotations

from typing import Any


def decompositions() -> dict[Any, Any]:
    """Return torch-mlir's table, and own entries where torch-mlir would use doubles, indices or masks."""
    import torch
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    aten: Any = torch.ops.aten
    return {
        **get_decomposition_table(),
        aten._native_batch_norm_legit_no_training.default: _batch_norm,
        aten._softmax.default: _softmax,
        aten.as_strided.default: _as_strided,
        aten.gelu.default: _gelu,
        aten.linear.default: _linear,
        aten.native_layer_norm.default: _layer_norm,
        aten.scaled_dot_product_attention.default: _attention,
        aten.var.correction: _variance,
        aten.var_mean.correction: _variance_and_mean,
    }


def _batch_norm(value: Any, weight: Any, bias: Any, *rest: Any) -> tuple[Any, Any, Any]:
    """Scale and shift each channel: one product and one sum for each element of the input."""
    import torch

    mean, variance, _momentum, epsilon = rest
    scale = torch.rsqrt(variance + epsilon)
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    shape = [-1] + [1] * (value.dim() - 2)
    nothing = value.new_empty(0)
    return value * scale.view(shape) + shift.view(shape), nothing, nothing


def _layer_norm(value: Any, shape: list[int], weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    import torch

    dimensions = list(range(-len(shape), 0))
    mean = value.mean(dimensions, keepdim=True)
    centred = value - mean
    scale = torch.rsqrt((centred * centred).mean(dimensions, keepdim=True) + eps)
    result = centred * scale
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias, mean, scale


def _as_strided(value: Any, size: list[int], stride: list[int], storage_offset: int | None = None) -> Any:
    """Reshape contiguous elements, as after adaptive pools; torch-mlir would gather them one by one."""
    expected = 1
    for extent, step in zip(reversed(size), reversed(stride), strict=True):
        if extent > 1 and step != expected:
            return NotImplemented
        expected *= extent
    if storage_offset or expected != value.numel() or not value.is_contiguous():
        return NotImplemented
    return value.reshape(size)


def _variance(value: Any, dim: list[int] | None = None, **options: Any) -> Any:
    return _variance_and_mean(value, dim, **options)[0]


def _variance_and_mean(
    value: Any, dim: list[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[Any, Any]:
    dimensions = list(range(value.dim())) if dim is None else dim
    mean = value.mean(dimensions, keepdim=True)
    centred = value - mean
    count = value.numel() // mean.numel() - (1 if correction is None else correction)
    variance = (centred * centred).sum(dimensions, keepdim=True) / count
    if keepdim:
        return variance, mean
    return variance.squeeze(dimensions), mean.squeeze(dimensions)


def _softmax(value: Any, dimension: int, half_to_float: bool) -> Any:
    import torch

    powers = torch.exp(value - torch.amax(value, dimension, keepdim=True))
    return powers / powers.sum(dimension, keepdim=True)


def _gelu(value: Any, approximate: str = "none") -> Any:
    import torch

    if approximate == "tanh":
        inner = 0.7978845608028654 * (value + 0.044715 * (value * value * value))  # sqrt(2 / pi)
        return 0.5 * value * (1 + torch.tanh(inner))
    return 0.5 * value * (1 + torch.erf(value * 0.7071067811865476))


def _linear(value: Any, weight: Any, bias: Any = None) -> Any:
    """Multiply matrices, then add the bias in the result's shape, which is the shape of the ops after it."""
    product = value.reshape(-1, value.shape[-1]) @ weight.t()
    result = product.reshape(*value.shape[:-1], weight.shape[0])
    return result if bias is None else result + bias


def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *rest: Any, **options: Any) -> Any:
    """Weigh rows of `value`; the dropout probability, which may be in `rest`, is ignored: it is 0 here."""
    import torch

    is_causal = rest[1] if len(rest) > 1 else options.get("is_causal", False)
    factor = options.get("scale")
    if options.get("enable_gqa"):
        raise NotImplementedError("attention of grouped queries; repeat the keys and values instead")
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if factor is None else factor)
    if is_causal:
        rows, columns = (torch.arange(scores.shape[axis], dtype=scores.dtype) for axis in (-2, -1))
        scores = torch.where(columns[None, :] <= rows[:, None], scores, float("-inf"))
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = torch.where(attn_mask, scores, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    return _softmax(scores, -1, False) @ value
