"""Export of a trained policy to a file that needs no torch: see burnish.policies.

Perceptrons become plain arrays for numpy; every other network becomes an ONNX file.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.core.errors import InputError
from burnish.learning.agents.policy import FactorisedHead, Policy
from burnish.learning.agents.sums import SummedLogits
from burnish.learning.networks.mlp import MLP
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron, save_arrays


def export_policy(policy: Policy, folder: Path, card: Mapping[str, Any] | None = None) -> Path:
    """Write `policy.npz` for a perceptron, or `policy.onnx` for any other encoder, and return its path.

    Args:
        policy: The policy, which is not changed.
        folder: An existing folder.
        card: Further facts to store in the file, which JSON can hold.

    Raises:
        MissingTool: a package for writing ONNX is not installed.
    """
    if isinstance(policy.encoder, MLP):
        path = folder / "policy.npz"
        save_arrays(to_arrays(policy, card), path)
        return path
    from burnish.learning.agents.export_onnx import export_onnx  # needs packages that perceptrons do not

    path = folder / "policy.onnx"
    export_onnx(policy, path, card)
    return path


def to_arrays(policy: Policy, card: Mapping[str, Any] | None = None) -> ArraysPolicy:
    """Return a policy with a perceptron as a numpy policy.

    Raises:
        InputError: the encoder is not a perceptron.
    """
    encoder, other, head = policy.encoder, policy.critic_encoder, policy.head
    if not isinstance(encoder, MLP):
        raise InputError(f"only perceptrons become arrays; export this {type(encoder).__name__} to ONNX")
    return ArraysPolicy(
        actions=policy.actions,
        inputs=encoder.inputs,
        encoder=_perceptron(encoder),
        head=_linear(_layer(head.action_logits if isinstance(head, FactorisedHead) else head.logits)),
        kinds=_linear(head.kind_logits) if isinstance(head, FactorisedHead) else None,
        kind=_array(head.kind) if isinstance(head, FactorisedHead) else None,
        critic_encoder=_perceptron(other) if isinstance(other, MLP) else None,
        critic=None if policy.critic is None else _linear(policy.critic),
        card=dict(card or {}),
    )


def from_arrays(policy: ArraysPolicy) -> dict[str, Tensor]:
    """Return the state_dict of the torch policy from which `to_arrays` makes this one, without a critic.

    Raises:
        InputError: the activation is not relu, or the actions are factorised.
    """
    network = policy.encoder
    if network.activation != "relu" or policy.kinds is not None:
        raise InputError("only a perceptron of relu with a flat head can be trained further")
    state = {"mean": network.mean, "deviation": network.deviation}
    if network.boundaries is not None:
        state["boundaries"] = network.boundaries
    place = 0
    for layer in network.layers:
        state |= {f"layers.{place}.weight": layer.weight.T, f"layers.{place}.bias": layer.bias}
        if layer.norm_weight is not None and layer.norm_bias is not None:
            place += 1
            state |= {f"layers.{place}.weight": layer.norm_weight, f"layers.{place}.bias": layer.norm_bias}
        place += 2  # an activation follows
    state = {f"encoder.{name}": array for name, array in state.items()}
    state |= {"head.logits.weight": policy.head.weight.T, "head.logits.bias": policy.head.bias}
    return {name: torch.from_numpy(np.array(array, dtype=np.float32)) for name, array in state.items()}


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = np.ascontiguousarray(tensor.detach().cpu().numpy())
    return array.copy()


def _layer(logits: nn.Linear | SummedLogits) -> nn.Linear:
    return logits.as_linear() if isinstance(logits, SummedLogits) else logits


def _linear(layer: nn.Linear, norm: nn.LayerNorm | None = None) -> Linear:
    weight, bias = _array(layer.weight.T), _array(layer.bias)
    return (
        Linear(weight, bias) if norm is None else Linear(weight, bias, _array(norm.weight), _array(norm.bias))
    )


def _perceptron(encoder: MLP) -> Perceptron:
    layers = []
    for layer, following in pairwise(encoder.layers):
        if isinstance(layer, nn.Linear):
            layers.append(_linear(layer, following if isinstance(following, nn.LayerNorm) else None))
    scale = encoder.config.scale
    boundaries = _array(encoder.boundaries) if scale == "quantiles" else None
    mean, deviation = _array(encoder.mean), _array(encoder.deviation)
    return Perceptron(scale == "log1p", mean, deviation, tuple(layers), boundaries=boundaries)
