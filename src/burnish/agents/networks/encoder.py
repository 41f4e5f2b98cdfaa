"""What every encoder can do: batch observations, and turn a batch into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class Encoder(nn.Module):
    """A network from observations to float32[B, width]."""

    width: int  # of what it returns

    @property
    def device(self) -> torch.device:
        """Where its parameters are, hence where `collate` puts a batch."""
        return next(self.parameters()).device

    def collate(self, observations: Sequence[Any]) -> Any:
        """Return a batch for `forward` of what B environments observe."""
        raise NotImplementedError

    def forward(self, batch: Any) -> Tensor:
        """Return float32[B, width]."""
        raise NotImplementedError
