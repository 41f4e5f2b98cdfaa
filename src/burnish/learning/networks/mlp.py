"""Multi-layer perceptron on feature vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from burnish.core.errors import InputError
from burnish.learning.networks.encoder import Encoder
from burnish.policies.batches import Features


@dataclass(frozen=True)
class MLPConfig:
    """The layers, and the scaling of the features before the first layer."""

    hidden: tuple[int, ...] = (256, 256)
    scale: Literal["log1p", "none", "quantiles"] = "log1p"
    """log1p: sign(x) log(1 + |x|), because counts span five orders of magnitude. quantiles: each feature
    becomes four numbers, as with ml-compiler-opt's vocabularies: the share q of observed quantiles that it
    reaches, q * q, the root of q, and the feature, standardized by the quantiles' mean and deviation."""
    layer_norm: bool = False  # before each activation
    quantiles: int = 1000  # number of quantiles of each feature, for the scale "quantiles"

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(f"hidden: expected the widths of one layer or more, not {self.hidden}")
        if self.scale not in ("log1p", "none", "quantiles"):
            raise InputError(f"scale: expected 'log1p', 'none' or 'quantiles', not {self.scale!r}")
        if self.quantiles < 2:
            raise InputError(f"quantiles is {self.quantiles}; expected at least 2: the least and the largest")


class MLP(Encoder):
    """Linear layers, each followed by ReLU, on float32[B, features].

    Features are scaled by `config.scale`, then standardized by `mean` and `deviation`, which are 0 and 1
    until `standardize` sets them.
    """

    inputs: Features
    mean: Tensor
    deviation: Tensor
    boundaries: Tensor  # [features, quantiles], only for the scale "quantiles"

    def __init__(self, config: MLPConfig, features: int, names: tuple[str, ...] = ()) -> None:
        """Make the layers.

        Args:
            config: Configuration of the layers.
            features: Number of features.
            names: Names of the observations to concatenate, if observations are dicts.
        """
        super().__init__()
        self.inputs = Features(names)
        self.config = config
        self.features = features
        self.width = config.hidden[-1]
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("deviation", torch.ones(features))
        values = features
        if config.scale == "quantiles":
            self.register_buffer("boundaries", torch.zeros(features, config.quantiles))
            values = 4 * features
        layers: list[nn.Module] = []
        for inputs, outputs in zip((values, *config.hidden), config.hidden, strict=False):
            layers.append(orthogonal(nn.Linear(inputs, outputs), gain=2**0.5))
            if config.layer_norm:
                layers.append(nn.LayerNorm(outputs))
            layers.append(nn.ReLU())
        self.layers = nn.Sequential(*layers)

    def example(self) -> list[Any]:
        """See Encoder."""
        row: Any = np.zeros(self.features, dtype=np.float32)
        if self.inputs.names:  # the first has all features here, because the numbers by name are unknown
            row = {name: row[: 0 if number else None] for number, name in enumerate(self.inputs.names)}
        return [row] * 3

    def forward(self, batch: Tensor) -> Tensor:
        """Return float32[B, width]."""
        x = (self._scaled(batch) - self.mean) / self.deviation
        if self.config.scale == "quantiles":
            share = self._shares(batch)
            x = torch.cat([share, share * share, share.sqrt(), x], dim=1)
        vectors: Tensor = self.layers(x)
        return vectors

    def standardize(self, observations: Sequence[Any]) -> None:
        """Set each scaled feature's mean and deviation from observations; a constant feature is only shifted.

        For the scale "quantiles", set the quantiles, as ml-compiler-opt's generate_vocab.py does, and use
        their mean and deviation, as its feature_ops.py does.
        """
        scaled = self._scaled(self.collate(observations)).double()
        if self.config.scale == "quantiles":
            found = np.quantile(scaled.cpu().numpy(), np.linspace(0, 1, self.config.quantiles), axis=0)
            scaled = torch.from_numpy(found).to(scaled)
            self.boundaries.copy_(scaled.T)
        deviation = scaled.std(dim=0, correction=0)
        self.mean.copy_(scaled.mean(dim=0))
        self.deviation.copy_(torch.where(deviation > 1e-6, deviation, torch.ones_like(deviation)))

    def _scaled(self, batch: Tensor) -> Tensor:
        return torch.sign(batch) * torch.log1p(batch.abs()) if self.config.scale == "log1p" else batch

    def _shares(self, batch: Tensor) -> Tensor:
        """Return the share of each feature's quantiles that are not above its value: float32[B, features]."""
        steps = self.config.quantiles
        if torch.compiler.is_exporting():  # ONNX has no searchsorted; sums of ones are exact, too
            below = (batch[:, :, None] >= self.boundaries).to(batch.dtype).sum(dim=2)
            return below / steps
        found = torch.searchsorted(self.boundaries, batch.T.contiguous(), right=True)
        return found.T.to(batch.dtype) / steps


def orthogonal(layer: nn.Linear, gain: float) -> nn.Linear:
    """Initialise a layer with orthogonal rows and zero bias, as suits policy gradients (arXiv:2006.05990)."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
