"""Networks on sequences: tokens of a program, earlier actions, rows of numbers such as a program's ops.

Every sequence begins with a mark, a learned vector, so that an empty sequence has an element, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from burnish.core.errors import InputError
from burnish.learning.networks.elements import NumberEmbedding, Numbers, VectorEmbedding, Vectors
from burnish.learning.networks.encoder import Encoder
from burnish.learning.networks.positions import sinusoidal


@dataclass(frozen=True)
class LSTMConfig:
    """A long short-term memory (Hochreiter and Schmidhuber 1997)."""

    width: int = 64
    layers: int = 1
    length: int = 256  # only the end of a longer sequence is used

    def __post_init__(self) -> None:
        _check_at_least_one(self.width, self.layers, self.length)


@dataclass(frozen=True)
class TransformerConfig:
    """Layers of attention (Vaswani et al. 2017), each normalised first (Xiong et al. 2020)."""

    width: int = 64
    layers: int = 2
    heads: int = 4  # they share the width
    length: int = 256  # only the end of a longer sequence is used

    def __post_init__(self) -> None:
        _check_at_least_one(self.width, self.layers, self.heads, self.length)
        if self.width % self.heads or self.width % 2:
            raise InputError(f"width {self.width}: expected an even multiple of the {self.heads} heads")


class LSTM(Encoder):
    """The LSTM's state after the last element of a sequence."""

    def __init__(self, config: LSTMConfig, elements: Numbers | Vectors) -> None:
        """Make the layers for sequences of `elements`."""
        super().__init__()
        self.config = config
        self.elements = elements
        self.inputs = elements.inputs(config.length)
        self.width = config.width
        self.embedding: NumberEmbedding | VectorEmbedding = elements.embedding(config.width)
        self.lstm = nn.LSTM(config.width, config.width, config.layers, batch_first=True)

    def example(self) -> list[Any]:
        """See Encoder."""
        return self.elements.example()

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return float32[B, width] for a batch that `inputs.batch` made; padding has no effect."""
        states, _ = self.lstm(self.embedding.begun(batch))
        last = batch["lengths"].view(-1, 1, 1).expand(-1, 1, self.width)
        vectors: Tensor = states.gather(1, last).squeeze(1)
        return vectors


class Transformer(Encoder):
    """The mean of a sequence's vectors after the layers."""

    def __init__(self, config: TransformerConfig, elements: Numbers | Vectors) -> None:
        """Make the layers for sequences of `elements`."""
        super().__init__()
        self.config = config
        self.elements = elements
        self.inputs = elements.inputs(config.length)
        self.width = config.width
        self.embedding: NumberEmbedding | VectorEmbedding = elements.embedding(config.width)
        self.layers = nn.ModuleList(Attention(config.width, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)

    def example(self) -> list[Any]:
        """See Encoder."""
        return self.elements.example()

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return float32[B, width] for a batch that `inputs.batch` made; padding has no effect."""
        x = self.embedding.begun(batch)
        places = torch.arange(x.shape[1], device=x.device)
        there = places <= batch["lengths"].unsqueeze(1)  # <=, because the mark is an additional element
        x = x + sinusoidal(places, self.width)
        for layer in self.layers:
            x = layer(x, there)
        weights = there.to(x.dtype) / there.sum(dim=1, keepdim=True)
        vectors: Tensor = (self.norm(x) * weights.unsqueeze(-1)).sum(dim=1)
        return vectors


class Attention(nn.Module):
    """x + attention(norm(x)), then x + two layers(norm(x)): PyTorch's TransformerEncoderLayer, norm first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.layers = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, there: Tensor) -> Tensor:
        """Return float32[B, L, width] for `x` of that shape; elements with False in `there` are ignored."""
        split = self.queries_keys_values(self.norm(x)).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = split.permute(2, 0, 3, 1, 4).unbind()  # [B, heads, L, width / heads]
        attended = scaled_dot_product_attention(queries, keys, values, attn_mask=there[:, None, None, :])
        x = x + self.joined(attended.transpose(1, 2).flatten(2))
        after: Tensor = x + self.layers(x)
        return after


def _check_at_least_one(*numbers: int) -> None:
    if min(numbers) < 1:
        raise InputError("expected a width, layers, heads and a length of at least 1")
