"""Interface of all encoders: batch observations, and turn a batch into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from burnish.policies.batches import Batch, Inputs


class Encoder(nn.Module):
    """A network from observations to float32[B, width].

    Initial parameters are drawn from torch's default generator, which must be seeded before.
    """

    width: int  # of the output vectors
    inputs: Inputs  # the batching of observations

    @property
    def device(self) -> torch.device:
        """Device of the parameters, to which `collate` moves batches."""
        return next(self.parameters()).device

    def collate(self, observations: Sequence[Any]) -> Any:
        """Return B observations as a batch for `forward`: a tensor, or a nested dict of tensors."""
        return to_tensors(self.inputs.batch(observations), self.device)

    def example(self) -> list[Any]:
        """Return three observations for exporters, whose batch has no axis shorter than 2."""
        raise NotImplementedError

    def forward(self, batch: Any) -> Tensor:
        """Return float32[B, width]."""
        raise NotImplementedError


def to_tensors(batch: Batch, device: torch.device) -> Any:
    """Return an array, or the arrays in nested dicts, as tensors of the same types and shapes."""
    if isinstance(batch, dict):
        return {name: to_tensors(part, device) for name, part in batch.items()}
    return torch.from_numpy(batch).to(device)
