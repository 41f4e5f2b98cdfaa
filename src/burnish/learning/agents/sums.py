"""Logits of actions as sums: of their kind's and of each of their parameters' logits.

`tile(0, 32)` has those of `tile`, of `tile` at 0, and of `tile` by 32: what is learned of a size counts at
every place. As F @ logits, with F of zeros and ones, they are a linear layer, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from burnish.core.action import Action
from burnish.learning.networks.mlp import orthogonal

Factor = tuple[str, int, str]
"""A kind, and a parameter's place and text; (kind, -1, "") is the kind's own."""


class SummedLogits(nn.Module):
    """A layer from vectors to the logits of actions, through those of their factors."""

    parts: Tensor  # float32[n, factors]: 1 where an action has a factor

    def __init__(self, width: int, actions: Sequence[str]) -> None:
        """Make the layer for actions whose texts `Action.parse` reads."""
        super().__init__()
        of_actions = [factors_of(action) for action in actions]
        self.names = tuple(dict.fromkeys(factor for factors in of_actions for factor in factors))
        index = {name: number for number, name in enumerate(self.names)}
        parts = torch.zeros(len(actions), len(self.names))
        for row, factors in zip(parts, of_actions, strict=True):
            row[[index[factor] for factor in factors]] = 1
        self.register_buffer("parts", parts, persistent=False)  # it follows from the actions
        self.factors = orthogonal(nn.Linear(width, len(self.names)), gain=0.01)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return float32[B, n] of float32[B, width]."""
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
    """Return what an action's logit is the sum of; a site is part of the kind."""
    parsed = Action.parse(action)
    return [(parsed.kind, -1, ""), *((parsed.kind, i, text) for i, text in enumerate(parsed.parameters))]
