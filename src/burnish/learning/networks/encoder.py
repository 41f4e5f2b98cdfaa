"""What every encoder can do: batch observations, and turn a batch into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from burnish.policies.batches import Batch, Inputs


class Encoder(nn.Module):
    """A network from observations to float32[B, width].

    Parameters are drawn from torch's default generator: seed it before making one.
    """

    width: int  # of what it returns
    inputs: Inputs  # how observations are batched

    @property
    def device(self) -> torch.device:
        """Where its parameters are, hence where `collate` puts a batch."""
        return next(self.parameters()).device

    def collate(self, observations: Sequence[Any]) -> Any:
        """Return a batch for `forward` of what B environments observe: a tensor, or a dict of such."""
        return to_tensors(self.inputs.batch(observations), self.device)

    def example(self) -> list[Any]:
        """Return three observations; no axis of their batch is shorter than 2. Exporters need to see one."""
        raise NotImplementedError

    def forward(self, batch: Any) -> Tensor:
        """Return float32[B, width]."""
        raise NotImplementedError


def to_tensors(batch: Batch, device: torch.device) -> Any:
    """Return arrays, or the arrays in dicts, as tensors of the same types and shapes."""
    if isinstance(batch, dict):
        return {name: to_tensors(part, device) for name, part in batch.items()}
    return torch.from_numpy(batch).to(device)
