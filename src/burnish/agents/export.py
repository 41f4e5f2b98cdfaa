"""From a trained policy to a file that is used without torch: see burnish.policies.

Perceptrons become plain arrays for numpy; every other network an ONNX file, in which the numbers of
environments, nodes, edges and tokens are free.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.agents.networks.encoder import to_tensors
from burnish.agents.networks.mlp import MLP
from burnish.agents.policy import FactorisedHead, Policy
from burnish.core.errors import InputError, MissingTool
from burnish.files import write_atomically
from burnish.policies import onnx as onnx_policy
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron, save_arrays
from burnish.representations.batches import Batch, flat, inputs_to_table

FREE_AXES: Final[Mapping[str, dict[int, str]]] = {
    "nodes": {0: "nodes"},
    "links": {1: "edges"},
    "flow": {0: "edges"},
    "position": {0: "edges"},
    "graph": {0: "nodes"},
    "numbers": {0: "batch", 1: "length"},
}
"""Of the arrays of a batch, by the last word of their name; the others have an axis of environments."""


def export_policy(policy: Policy, folder: Path, card: Mapping[str, Any] | None = None) -> Path:
    """Write `policy.npz`, or `policy.onnx` where the encoder is no perceptron, and return its path.

    Args:
        policy: It is left as it was.
        folder: That is there.
        card: What else is to be known where it is used; JSON can hold it.

    Raises:
        MissingTool: a package that is needed to write ONNX is not installed.
    """
    if isinstance(policy.encoder, MLP):
        path = folder / "policy.npz"
        save_arrays(to_arrays(policy, card), path)
        return path
    path = folder / "policy.onnx"
    export_onnx(policy, path, card)
    return path


def to_arrays(policy: Policy, card: Mapping[str, Any] | None = None) -> ArraysPolicy:
    """Return a policy with a perceptron as one in numpy.

    Raises:
        InputError: its encoder is something else.
    """
    encoder, other, head = policy.encoder, policy.critic_encoder, policy.head
    if not isinstance(encoder, MLP):
        raise InputError(f"only perceptrons become arrays; export this {type(encoder).__name__} to ONNX")
    return ArraysPolicy(
        actions=policy.actions,
        inputs=encoder.inputs,
        encoder=_perceptron(encoder),
        head=_linear(head.action_logits if isinstance(head, FactorisedHead) else head.logits),
        kinds=_linear(head.kind_logits) if isinstance(head, FactorisedHead) else None,
        kind=_array(head.kind) if isinstance(head, FactorisedHead) else None,
        critic_encoder=_perceptron(other) if isinstance(other, MLP) else None,
        critic=None if policy.critic is None else _linear(policy.critic),
        card=dict(card or {}),
    )


def export_onnx(policy: Policy, path: Path, card: Mapping[str, Any] | None = None) -> None:
    """Write a policy with any encoder as an ONNX file for burnish.policies.onnx.

    Raises:
        MissingTool: onnx or onnxscript is not installed.
        InputError: the file cannot be written.
    """
    device, training = policy.encoder.device, policy.training
    observations = policy.encoder.example()
    example = policy.encoder.inputs.batch(observations)
    mask = torch.ones(len(observations), len(policy.actions), dtype=torch.bool)
    try:
        policy.cpu().eval()
        with _quiet(), tempfile.TemporaryDirectory() as folder:
            program = torch.onnx.export(
                _Outputs(policy),
                (to_tensors(example, torch.device("cpu")), mask),
                dynamo=True,
                dynamic_shapes=(_axes(example), {0: torch.export.Dim("batch")}),
                input_names=[*flat(example), "mask"],
                output_names=["log_probs", "values"][: 1 if policy.critic is None else 2],
                external_data=False,
                verbose=False,
            )
            assert program is not None
            program.model.metadata_props[onnx_policy.METADATA] = json.dumps(
                {
                    "format": onnx_policy.FORMAT,
                    "actions": policy.actions,
                    "inputs": inputs_to_table(policy.encoder.inputs),
                    "card": dict(card or {}),
                }
            )
            written = Path(folder) / "policy.onnx"
            program.save(written, external_data=False)
            write_atomically(path, written.read_bytes())
    except ImportError as error:
        raise MissingTool(f"{error.name} is not installed; pip install 'burnish[train]'") from None
    finally:
        policy.to(device).train(training)


class _Outputs(nn.Module):
    """What the file computes."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, batch: Any, mask: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        if self.policy.critic is None:
            return self.policy.log_probs(batch, mask)
        return self.policy.evaluate(batch, mask)


def _axes(batch: Batch, name: str = "features", part: str = "") -> Any:
    """Return the free axes of a batch's arrays, in dicts like its own; each part has nodes of its own."""
    if isinstance(batch, dict):
        prefix = re.sub(r"\W", "_", part)
        return {key: _axes(inner, key, f"{prefix}{key}_") for key, inner in batch.items()}
    owner = part.removesuffix(f"{name}_")
    axes = FREE_AXES.get(name, {0: "batch"})
    return {axis: torch.export.Dim(free if free == "batch" else owner + free) for axis, free in axes.items()}


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = np.ascontiguousarray(tensor.detach().cpu().numpy())
    return array.copy()


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
    log1p = encoder.config.scale == "log1p"
    return Perceptron(log1p, _array(encoder.mean), _array(encoder.deviation), tuple(layers))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's notes about its own future and about torchvision to itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
