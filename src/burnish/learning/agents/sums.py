"""Logits of actions as sums of factors: one for the kind, and one for each parameter.

The logit of `tile(0, 32)` is the sum of those of `tile`, of `tile` at 0, and of `tile` by 32, so knowledge
about a size applies at every place. The sum is F @ logits, with F of zeros and ones, and thus a linear layer.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from burnish.core.action import Action
from burnish.learning.networks.mlp import orthogonal

Factor = tuple[str, int, str]
"""A kind, and a parameter's position and text; (kind, -1, "") is the factor of the kind itself."""


class SummedLogits(nn.Module):
    """A layer from vectors to logits of factors, and from these to logits of actions."""

    parts: Tensor  # float32[n, factors]: 1 if an action has a factor

    def __init__(self, width: int, actions: Sequence[str]) -> None:
        """Make the layer for actions whose texts `Action.parse` reads."""
        super().__init__()
        of_actions = [factors_of(action) for action in actions]
        self.names = tuple(dict.fromkeys(factor for factors in of_actions for factor in factors))
        index = {name: number for number, name in enumerate(self.names)}
        parts = torch.zeros(len(actions), len(self.names))
        for row, factors in zip(parts, of_actions, strict=True):
            row[[index[factor] for factor in factors]] = 1
        self.register_buffer("parts", parts, persistent=False)  # not saved: computed from the actions
        self.factors = orthogonal(nn.Linear(width, len(self.names)), gain=0.01)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return logits float32[B, n] for vectors float32[B, width]."""
        logits: Tensor = self.factors(vectors) @ self.parts.T
        return logits

    def as_linear(self) -> nn.Linear:
        """Return the same function as one layer."""
        linear = nn.Linear(self.factors.in_features, len(self.parts))
        with torch.no_grad():
            linear.weight.copy_(self.parts @ self.factors.weight)
            linear.bias.copy_(self.parts @ self.factors.bias)
        return linear


def factors_of(action: str) -> list[Factor]:
    """Return the factors whose logits sum to an action's; a site is part of the kind."""
    parsed = Action.parse(action)
    return [(parsed.kind, -1, ""), *((parsed.kind, i, text) for i, text in enumerate(parsed.parameters))]
