"""Mixture of encoders of several observations, such as a graph, AutoPhase's features and earlier actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from burnish.core.errors import InputError
from burnish.learning.networks.encoder import Encoder
from burnish.policies.batches import Parts


class Mixture(Encoder):
    """An encoder for each of the observations in a dict; a layer joins their vectors."""

    def __init__(self, parts: Mapping[str, Encoder], width: int) -> None:
        """Join encoders, given by the names of their observations.

        Raises:
            InputError: there are no parts, or the width is below 1.
        """
        super().__init__()
        if not parts or width < 1:
            raise InputError("a mixture needs at least one part, and a width of at least 1")
        self.names = tuple(parts)
        self.inputs = Parts({name: part.inputs for name, part in parts.items()})
        self.width = width
        self.parts = nn.ModuleList(parts.values())
        self.join = nn.Sequential(nn.Linear(sum(part.width for part in parts.values()), width), nn.ReLU())

    def example(self) -> list[Any]:
        """See Encoder."""
        columns = [part.example() for part in self.parts if isinstance(part, Encoder)]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]

    def collate(self, observations: Sequence[Any]) -> dict[str, Any]:
        """See Encoder."""
        return {
            name: part.collate([observed[name] for observed in observations])
            for name, part in zip(self.names, self.parts, strict=True)
            if isinstance(part, Encoder)
        }

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Return float32[B, width] for a batch of each observation, by name."""
        vectors = [part(batch[name]) for name, part in zip(self.names, self.parts, strict=True)]
        joined: Tensor = self.join(torch.cat(vectors, dim=1))
        return joined
