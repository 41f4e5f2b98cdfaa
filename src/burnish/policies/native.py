"""Perceptrons as networks of the native core, which run without Python."""

from __future__ import annotations

import numpy as np

from burnish import _native
from burnish.core.errors import InputError
from burnish.policies.arrays import ArraysPolicy, Linear
from burnish.policies.choose import ActionPolicy, Floats
from burnish.policies.layers import layers_of


def native_network(policy: ActionPolicy) -> _native.Network:
    """Return a perceptron as a network of the native core.

    Raises:
        InputError: the policy is not a perceptron, the shapes of its arrays do not match, or a weight is not
            finite.
    """
    if not isinstance(policy, ArraysPolicy):
        raise InputError("expected an .npz policy of arrays: only perceptrons run in the native core")
    network = policy.encoder
    scale = "quantiles" if network.boundaries is not None else "log1p" if network.log1p else "none"
    try:
        scaled = _native.NetworkInput(
            scale,
            np.ascontiguousarray(network.mean, dtype=np.float32),
            np.ascontiguousarray(network.deviation, dtype=np.float32),
            None if network.boundaries is None else np.ascontiguousarray(network.boundaries, np.float32),
        )
        layers = [_arrays(layer) for layer in layers_of(policy)]
        return _native.Network(scaled, network.activation, layers)
    except ValueError as error:
        raise InputError(f"not a network for the native core: {error}") from None


def _arrays(layer: Linear) -> tuple[Floats, Floats, Floats | None, Floats | None]:
    def dense(array: Floats) -> Floats:
        return np.ascontiguousarray(array, dtype=np.float32)

    norm, shift = layer.norm_weight, layer.norm_bias
    return (
        dense(layer.weight),
        dense(layer.bias),
        None if norm is None else dense(norm),
        None if shift is None else dense(shift),
    )
