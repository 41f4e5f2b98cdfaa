"""Export of a policy to an ONNX file with variable numbers of environments, nodes, edges and tokens."""

from __future__ import annotations

import copy
import json
import logging
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.aggr import Aggregation

from burnish.core.errors import MissingTool, install
from burnish.files import write_atomically
from burnish.learning.agents.policy import Policy, masked_log_softmax
from burnish.learning.networks.encoder import to_tensors
from burnish.learning.networks.sequence import LSTM
from burnish.policies import onnx as onnx_policy
from burnish.policies.arrays import EPSILON, ArraysPolicy, Linear
from burnish.policies.batches import Batch, flat, inputs_to_table
from burnish.policies.choose import Floats
from burnish.policies.layers import layers_of

FREE_AXES: Final[Mapping[str, dict[int, str]]] = {
    "nodes": {0: "nodes"},
    "links": {1: "edges"},
    "flow": {0: "edges"},
    "position": {0: "edges"},
    "graph": {0: "nodes"},
    "numbers": {0: "batch", 1: "length"},
    "rows": {0: "batch", 1: "length"},
}
"""Variable axes of a batch's arrays, by the last word of their name; other arrays have {0: "batch"}."""


def export_onnx(policy: Policy, path: Path, card: Mapping[str, Any] | None = None) -> None:
    """Write a policy with any encoder as an ONNX file for burnish.policies.onnx.

    Raises:
        MissingTool: onnx or onnxscript is not installed.
        InputError: the file cannot be written.
    """
    policy = copy.deepcopy(policy).cpu()
    for module in list(policy.modules()):
        if isinstance(module, LSTM):
            module.lstm = _OnnxLSTM(module.lstm)  # type: ignore[assignment]
        if isinstance(module, MessagePassing):
            module.aggr_module = _SumOfRows()
    observations = policy.encoder.example()
    example = policy.encoder.inputs.batch(observations)
    mask = torch.ones(len(observations), len(policy.actions), dtype=torch.bool)
    outputs = ["log_probs", "values"][: 1 if policy.critic is None else 2]
    rest = {
        "actions": policy.actions,
        "inputs": inputs_to_table(policy.encoder.inputs),
        "card": dict(card or {}),
    }
    _write(_Outputs(policy), (example, mask), outputs, rest, path)


def export_arrays(policy: ArraysPolicy, path: Path) -> None:
    """Write the actor of a policy of arrays as an ONNX file for burnish.policies.onnx.

    Raises:
        MissingTool: onnx or onnxscript is not installed.
        InputError: the policy's network is not a stack of layers, or the file cannot be written.
    """
    rows = 3  # for the exporter, 1 is a special size
    example = np.zeros((rows, len(policy.encoder.mean)), dtype=np.float32)
    mask = torch.ones(rows, len(policy.actions), dtype=torch.bool)
    rest = {"actions": policy.actions, "inputs": inputs_to_table(policy.inputs), "card": dict(policy.card)}
    _write(_Layers(policy), (example, mask), ["log_probs"], rest, path)


def _write(
    network: nn.Module, example: tuple[Batch, Tensor], outputs: list[str], rest: Mapping[str, Any], path: Path
) -> None:
    batch, mask = example
    try:
        with _quiet(), tempfile.TemporaryDirectory() as folder:
            program = torch.onnx.export(
                network.eval(),
                (to_tensors(batch, torch.device("cpu")), mask),
                dynamo=True,
                dynamic_shapes=(_axes(batch), {0: torch.export.Dim("batch")}),
                input_names=[*flat(batch), "mask"],
                output_names=outputs,
                external_data=False,
                verbose=False,
            )
            assert program is not None
            metadata = json.dumps({"format": onnx_policy.FORMAT, **rest})
            program.model.metadata_props[onnx_policy.METADATA] = metadata
            written = Path(folder) / "policy.onnx"
            program.save(written, external_data=False)
            write_atomically(path, written.read_bytes())
    except ImportError as error:
        raise MissingTool(f"{error.name} is not installed; {install('train')}") from None


class _Outputs(nn.Module):
    """The function that the file computes."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, batch: Any, mask: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        if self.policy.critic is None:
            return self.policy.log_probs(batch, mask)
        return self.policy.evaluate(batch, mask)


class _Layers(nn.Module):
    """The actor of a policy of arrays: see Perceptron in burnish.policies.arrays."""

    mean: Tensor
    deviation: Tensor
    boundaries: Tensor | None

    def __init__(self, policy: ArraysPolicy) -> None:
        super().__init__()
        network = policy.encoder
        self.log1p = network.log1p
        for name in ("mean", "deviation", "boundaries"):
            array = getattr(network, name)
            self.register_buffer(name, None if array is None else torch.from_numpy(array))
        *hidden, last = layers_of(policy)
        activation = {"relu": nn.ReLU, "tanh": nn.Tanh}[network.activation]
        self.layers = nn.Sequential()
        for layer in hidden:
            self.layers.extend((*_modules(layer), activation()))
        self.layers.extend(_modules(last))

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        x = features.sign() * features.abs().log1p() if self.log1p else features
        x = (x - self.mean) / self.deviation
        if self.boundaries is not None:
            reached = features[:, :, None] >= self.boundaries  # ONNX has no search
            share = reached.to(x.dtype).sum(dim=2) / self.boundaries.shape[1]
            x = torch.cat([share, share * share, share.sqrt(), x], dim=1)
        return masked_log_softmax(self.layers(x), mask)


def _modules(layer: Linear) -> Iterator[nn.Module]:
    linear = nn.Linear(*layer.weight.shape)
    yield _filled(linear, weight=layer.weight.T, bias=layer.bias)
    if layer.norm_weight is not None and layer.norm_bias is not None:
        norm = nn.LayerNorm(len(layer.bias), eps=float(EPSILON))
        yield _filled(norm, weight=layer.norm_weight, bias=layer.norm_bias)


def _filled(module: nn.Module, **arrays: Floats) -> nn.Module:
    module.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return module


class _SumOfRows(Aggregation):  # type: ignore[misc]
    """Sum of the messages to each node, by rows: ONNX's ScatterND.

    PyTorch Geometric's own sum becomes ScatterElements, which took 5 times as long on graphs of 18,000 nodes.
    """

    def forward(self, x: Tensor, index: Tensor, ptr: None, dim_size: int, dim: int) -> Tensor:
        """Return float32[dim_size, ...]: x, float32[E, ...], added to the rows `index`, int64[E]."""
        return x.new_zeros(dim_size, *x.shape[1:]).index_add(0, index, x)


class _OnnxLSTM(nn.Module):
    """ONNX's LSTM with PyTorch's weights; PyTorch 2.13 may export its own LSTM with a fixed length."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        self.width = lstm.hidden_size
        self.layers = lstm.num_layers
        for layer in range(lstm.num_layers):
            weights = [getattr(lstm, f"{name}_l{layer}").detach() for name in ("weight_ih", "weight_hh")]
            biases = [getattr(lstm, f"{name}_l{layer}").detach() for name in ("bias_ih", "bias_hh")]
            for name, weight in zip(("input", "state"), weights, strict=True):
                self.register_buffer(f"{name}{layer}", _onnx_gates(weight).unsqueeze(0))
            self.register_buffer(f"bias{layer}", torch.cat(list(map(_onnx_gates, biases))).unsqueeze(0))

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """Return the last layer's states float32[B, L, width] for inputs float32[B, L, inputs]."""
        x = x.transpose(0, 1)
        for layer in range(self.layers):
            weights = [getattr(self, f"{name}{layer}") for name in ("input", "state", "bias")]
            shape = (x.shape[0], 1, x.shape[1], self.width)
            y = torch.onnx.ops.symbolic(
                "LSTM", [x, *weights], {"hidden_size": self.width}, dtype=x.dtype, shape=shape
            )
            x = y.squeeze(1)
        return x.transpose(0, 1), None


def _onnx_gates(weight: Tensor) -> Tensor:
    """Return a weight's blocks in ONNX's order: input, output, forget, cell (PyTorch's: i, f, g, o)."""
    i, f, g, o = weight.chunk(4)
    return torch.cat([i, o, f, g])


def _axes(batch: Batch, name: str = "features", part: str = "") -> Any:
    """Return the variable axes of a batch's arrays, in the same nested dicts; names are separate per part."""
    if isinstance(batch, dict):
        prefix = re.sub(r"\W", "_", part)
        return {key: _axes(inner, key, f"{prefix}{key}_") for key, inner in batch.items()}
    owner = part.removesuffix(f"{name}_")
    axes = FREE_AXES.get(name, {0: "batch"})
    return {axis: torch.export.Dim(free if free == "batch" else owner + free) for axis, free in axes.items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the exporter's messages about its own future and about torchvision."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
