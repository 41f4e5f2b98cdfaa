"""Sequence-value learning: prediction of the gains of some strong sequences on a program.

The sequences were found by search over the training split, and each was applied to every training program,
which gives a table of values. The network learns a distance between programs under which a program's values
are the weighted mean of its neighbours' values (attention over a support set: Vinyals et al. 2016, equation
1). A program's neighbours exclude its own project, because the policy will be applied to unseen projects.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.learning.agents import optimizers

SELF = -1e9  # score of a hidden program, which excludes it from the softmax


@dataclass(frozen=True)
class SequenceValuesConfig:
    """Hyperparameters of the network and its training."""

    width: int = 32  # of the hidden layer
    dimensions: int = 8  # of the space that programs are mapped to
    dropout: float = 0.2  # of the features, and of the hidden layer
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    epochs: int = 400


class SequenceValueNetwork(nn.Module):
    """Map from features to a point: [B, F] -> [B, dimensions]."""

    def __init__(self, features: NDArray[np.float32], config: SequenceValuesConfig) -> None:
        """Make the network; mean and deviation of log(1 + `features`), [P, F], standardise its input."""
        super().__init__()
        logs = np.log1p(features)
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.tensor(logs.mean(axis=0), dtype=torch.float32))
        self.register_buffer("deviation", torch.tensor(logs.std(axis=0) + 0.1, dtype=torch.float32))
        self.hidden = nn.Linear(features.shape[1], config.width)
        self.output = nn.Linear(config.width, config.dimensions)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, features: Tensor) -> Tensor:
        """Return the point of each program."""
        inputs = self.dropout((torch.log1p(features) - self.mean) / self.deviation)
        point: Tensor = self.output(self.dropout(torch.tanh(self.hidden(inputs))))
        return point


def attention(queries: Tensor, keys: Tensor, hidden: Tensor | None = None) -> Tensor:
    """Return softmax over keys of minus the squared distance: [B, P].

    Args:
        queries: [B, D].
        keys: [P, D].
        hidden: bool[B, P]; True: the query must not use the key.
    """
    scores = -torch.square(queries[:, None] - keys[None]).sum(dim=-1)
    if hidden is not None:
        scores = scores.masked_fill(hidden, SELF)
    return torch.softmax(scores, dim=1)


def value_loss(weights: Tensor, gains: Tensor, targets: Tensor) -> Tensor:
    """Return the mean squared error of the weighted means of gains.

    Args:
        weights: [B, P].
        gains: [P, K].
        targets: [B, K].
    """
    return torch.square(weights @ gains - targets).mean()


class SequenceValueLearner:
    """Training of the network; an iteration is an epoch."""

    def __init__(
        self,
        features: NDArray[np.float32],
        gains: NDArray[np.float32],
        projects: Sequence[str],
        config: SequenceValuesConfig,
        *,
        seed: int,
    ) -> None:
        """Make the network and its optimizer.

        Args:
            features: [P, F], counts.
            gains: [P, K], log(reference / cost).
            projects: Projects of the P programs; no program is predicted from its own project.
            config: Hyperparameters.
            seed: Seed of the weights and of dropout.
        """
        self.config = config
        self.seed = seed
        self.epoch = 0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = SequenceValueNetwork(features, config)
        self.features = torch.tensor(features, dtype=torch.float32)
        self.gains = torch.tensor(gains, dtype=torch.float32)
        names = np.array(projects)
        self.hidden = torch.tensor(names[:, None] == names[None])
        self.optimizer = optimizers.AdamW(
            self.network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )

    def iterate(self) -> dict[str, float]:
        """Make one optimizer step on all programs."""
        self.network.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed * 1_000_003 + self.epoch)
            points = self.network(self.features)
        loss = value_loss(attention(points, points, self.hidden), self.gains, self.gains)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.epoch += 1
        return {"epoch": self.epoch, "loss/values": float(loss.detach())}

    @torch.no_grad()
    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return the network's part of burnish.policies.sequence_values.SequenceValues."""
        self.network.eval()
        state = self.network.state_dict()
        return {
            "mean": state["mean"].numpy(),
            "deviation": state["deviation"].numpy(),
            "hidden": state["hidden.weight"].T.contiguous().numpy(),
            "hidden_bias": state["hidden.bias"].numpy(),
            "output": state["output.weight"].T.contiguous().numpy(),
            "output_bias": state["output.bias"].numpy(),
            "keys": self.network(self.features).numpy(),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs."""
        state = {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict()}
        return copy.deepcopy(state) | {"epoch": self.epoch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from the state of another learner."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self.epoch = state["epoch"]
