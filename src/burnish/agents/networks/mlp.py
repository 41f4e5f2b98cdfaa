"""A multi-layer perceptron on feature vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from burnish.agents.networks.encoder import Encoder
from burnish.core.errors import InputError
from burnish.representations.batches import Features


@dataclass(frozen=True)
class MLPConfig:
    """The layers, and what is done to the features before the first one."""

    hidden: tuple[int, ...] = (256, 256)
    scale: Literal["log1p", "none"] = "log1p"
    """log1p: sign(x) log(1 + |x|); counts of programs span five orders of magnitude."""
    layer_norm: bool = False  # before each activation

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(f"hidden: expected the widths of one layer or more, not {self.hidden}")
        if self.scale not in ("log1p", "none"):
            raise InputError(f"scale: expected 'log1p' or 'none', not {self.scale!r}")


class MLP(Encoder):
    """Layers with ReLU between them and after the last one, on float32[B, features].

    Features are scaled as the configuration says, then standardized by `mean` and `deviation`, which are 0
    and 1 until `standardize` sets them.
    """

    inputs: Features
    mean: Tensor
    deviation: Tensor

    def __init__(self, config: MLPConfig, features: int, names: tuple[str, ...] = ()) -> None:
        """Make the layers.

        Args:
            config: What they are like.
            features: How many there are.
            names: Of the observations they are of, one after another, where those are a dict.
        """
        super().__init__()
        self.inputs = Features(names)
        self.config = config
        self.features = features
        self.width = config.hidden[-1]
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("deviation", torch.ones(features))
        layers: list[nn.Module] = []
        for inputs, outputs in zip((features, *config.hidden), config.hidden, strict=False):
            layers.append(orthogonal(nn.Linear(inputs, outputs), gain=2**0.5))
            if config.layer_norm:
                layers.append(nn.LayerNorm(outputs))
            layers.append(nn.ReLU())
        self.layers = nn.Sequential(*layers)

    def example(self) -> list[Any]:
        """See Encoder."""
        row: Any = np.zeros(self.features, dtype=np.float32)
        if self.inputs.names:  # how many are whose is not known here
            row = {name: row[: 0 if number else None] for number, name in enumerate(self.inputs.names)}
        return [row] * 3

    def forward(self, batch: Tensor) -> Tensor:
        """Return float32[B, width]."""
        vectors: Tensor = self.layers((self._scaled(batch) - self.mean) / self.deviation)
        return vectors

    def standardize(self, observations: Sequence[Any]) -> None:
        """Take each scaled feature's mean and deviation from observations; a constant one is only shifted."""
        scaled = self._scaled(self.collate(observations)).double()
        deviation = scaled.std(dim=0, correction=0)
        self.mean.copy_(scaled.mean(dim=0))
        self.deviation.copy_(torch.where(deviation > 1e-6, deviation, torch.ones_like(deviation)))

    def _scaled(self, batch: Tensor) -> Tensor:
        return torch.sign(batch) * torch.log1p(batch.abs()) if self.config.scale == "log1p" else batch


def orthogonal(layer: nn.Linear, gain: float) -> nn.Linear:
    """Start a layer with orthogonal rows and no bias, as policy gradients like it (arXiv:2006.05990)."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
