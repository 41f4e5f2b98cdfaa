"""Positional encoding."""

from __future__ import annotations

import torch
from torch import Tensor


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """Encode positions p, int64[...]: the sines, then the cosines, of p / 10000^(2i / width).

    Vaswani et al. 2017, section 3.5. The result is float32[..., width]; `width` is even.
    """
    exponents = torch.arange(0, width, 2, device=positions.device) / width
    angles = positions.unsqueeze(-1) * 10000.0**-exponents
    return torch.cat([angles.sin(), angles.cos()], dim=-1)
