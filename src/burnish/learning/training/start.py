"""The start of a training: the weights of an earlier policy, of another run or of a file.

start_from = "runs/inlining-credit"          # the best policy of a run
start_from = "policy.npz"                    # a perceptron that burnish train exported
start_from = "llvm_inlining-loaded-bytes"    # a shipped one
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from burnish.core.errors import InputError
from burnish.learning.agents.export import from_arrays
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.learning.training.checkpoint import load_checkpoint
from burnish.policies.arrays import ArraysPolicy
from burnish.policies.find import shipped
from burnish.policies.load import load_action_policy


@dataclass(frozen=True)
class Start:
    """Weights to begin with, and the settings of a configuration whose network they fit."""

    weights: Mapping[str, Any]  # tensors by the names of Policy.state_dict
    scale: str  # of MLPConfig; "" for other networks
    settings: Mapping[str, Any]  # such as {"network.hidden": [64, 32]}


def load_start(policy: Policy, source: str, temperature: float = 1.0) -> None:
    """Set a policy's weights to those of an earlier policy; the critic's only if both have one.

    Args:
        policy: The policy, which is changed.
        source: The folder of a run, a policy's .npz file, or the name of a shipped policy.
        temperature: Divides the head's logits. The most probable action of a flat head stays the same.

    Raises:
        InputError: there is no such policy, or its network differs.
    """
    start = _read(source)
    if wrong := _difference(policy, start):
        expected = ", ".join(f"{name} = {value!r}" for name, value in start.settings.items())
        raise InputError(
            f"start_from: the policy of {source} has another network: {wrong}; give this training its "
            f"settings: {expected}"
        )
    policy.load_state_dict(dict(start.weights), strict=False)
    with torch.no_grad():
        for weight in policy.head.parameters():
            weight.div_(temperature)
    policy.started = True


def _difference(policy: Policy, start: Start) -> str:
    """Return the first difference of two networks; "" if the weights of one fit the other."""
    mine, theirs = policy.state_dict(), start.weights
    for name in {**mine, **theirs}:
        here, there = (_shape(state, name) for state in (mine, theirs))
        if here != there and not (name.startswith("critic") and "none" in (here, there)):
            return f"{name} is {there}, here {here}"
    scale = policy.encoder.config.scale if isinstance(policy.encoder, MLP) else ""
    return f"the scale of its features is {start.scale!r}, here {scale!r}" if scale != start.scale else ""


def _shape(state: Mapping[str, Any], name: str) -> str:
    return str(list(state[name].shape)) if name in state else "none"


def _widths(weights: Mapping[str, torch.Tensor]) -> list[int]:
    layers = (value for name, value in weights.items() if name.startswith("encoder.layers."))
    return [len(weight) for weight in layers if weight.dim() == 2]


def _read(source: str) -> Start:
    file = shipped().get(source, Path(source))
    if file.is_file():
        found = load_action_policy(file)
        if not isinstance(found, ArraysPolicy):
            raise InputError(
                f"start_from: {source}: expected a perceptron, which is a .npz file, or a run's folder"
            )
        scale = _scale(found)
        hidden = [len(layer.bias) for layer in found.encoder.layers]
        settings = {"network.hidden": hidden, "network.scale": scale}
        return Start(from_arrays(found), scale, _observed(found.card) | settings)
    checkpoint = load_checkpoint(file)
    if not checkpoint or not checkpoint.best:
        raise InputError(
            f"start_from: {source} has no trained policy; expected the folder of a run of burnish train, "
            "a policy.npz, or the name of a shipped policy"
        )
    network = checkpoint.config.get("network", {})
    is_mlp = network.get("kind", "mlp") == "mlp"
    settings = {f"network.{name}": value for name, value in network.items()}
    if is_mlp:  # a vote of inlining-credit has other widths than the configuration's
        settings["network.hidden"] = _widths(checkpoint.best.policy)
    scale = network.get("scale", MLPConfig().scale) if is_mlp else ""
    return Start(
        checkpoint.best.policy, scale, _observed(checkpoint.config.get("environment", {})) | settings
    )


def _scale(policy: ArraysPolicy) -> str:
    if policy.encoder.boundaries is not None:
        return "quantiles"
    return "log1p" if policy.encoder.log1p else "none"


def _observed(table: Mapping[str, Any]) -> dict[str, Any]:
    observation = table.get("observation")
    return {} if observation is None else {"environment.observation": observation}
