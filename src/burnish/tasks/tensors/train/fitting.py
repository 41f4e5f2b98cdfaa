"""Fitting of a cost model to measured schedules: to their times, and to their order within each program.

The loss is Huber's loss of log2 seconds, plus RankNet's over pairs of schedules of one program (Burges et al.
2005): -log sigmoid(s_b - s_a) if a is faster. Fast schedules weigh more, because a search looks only at them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.learning.agents import optimizers
from burnish.tasks.tensors.policy.cost_model import LEAST_DEVIATION, CostModel, Layers, scale_of

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class LearningConfig:
    """Settings of the fit."""

    width: int = 128
    hidden: int = 2
    models: int = 3
    epochs: int = 90
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    nests_of_batch: int = 24
    times: float = 1.0  # weight of the loss of times; 0: only the order is learned
    ranking: float = 1.0  # weight of the loss of the order within nests; 0: only times are learned
    pairs: int = 128  # of each program, drawn anew for each batch; a cost model learns from all pairs
    favour: float = 1.0  # log2 by which a weight falls for each factor of 2 to the best time of its nest


@dataclass(frozen=True)
class MeasuredProgram:
    """Measured schedules of one program."""

    features: tuple[Floats, ...]  # [statements, F], one for each schedule
    seconds: NDArray[np.float64]  # [schedules]


class Perceptrons(nn.Module):
    """Several independent perceptrons, evaluated in one batch."""

    def __init__(self, sizes: Sequence[int], models: int, begin: float = 0.0) -> None:
        """Draw the weights of layers of some sizes; a single output begins near `begin`."""
        super().__init__()
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for before, after in pairwise(sizes):
            weight = torch.randn(models, before, after) * (2 / before) ** 0.5
            self.weights.append(nn.Parameter(weight if after > 1 else 0.1 * weight))
            self.biases.append(nn.Parameter(torch.full((models, 1, after), begin if after == 1 else 0.0)))

    def forward(self, x: Tensor) -> Tensor:
        """Return float32[models, N, outputs] for float32[models or 1, N, inputs]."""
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight + bias
            if number + 1 < len(self.weights):
                x = torch.relu(x)
        return x


def layers_of(network: Perceptrons) -> Layers:
    """Return the layers as NumPy's arrays."""
    return tuple(
        (weight.detach().numpy(), bias.detach().numpy())
        for weight, bias in zip(network.weights, network.biases, strict=True)
    )


def train(
    parameters: Sequence[nn.Parameter],
    loss_of: Callable[[Sequence[MeasuredProgram]], Tensor],
    measured: Sequence[MeasuredProgram],
    config: LearningConfig,
    rng: np.random.Generator,
) -> None:
    """Minimise the loss of batches of programs."""
    optimizer = optimizers.AdamW(parameters, lr=config.learning_rate, weight_decay=config.weight_decay)
    batches = -(-len(measured) // config.nests_of_batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, config.learning_rate, total_steps=config.epochs * batches
    )
    for _ in range(config.epochs):
        order = rng.permutation(len(measured))
        for begin in range(0, len(order), config.nests_of_batch):
            loss = loss_of([measured[i] for i in order[begin : begin + config.nests_of_batch]])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()


def scales_of(measured: Sequence[MeasuredProgram]) -> tuple[Floats, Floats]:
    """Return the mean and the deviation of each feature, float32[F], over all statements."""
    rows = np.concatenate([one for nest in measured for one in nest.features])
    return rows.mean(axis=0), rows.std(axis=0) + LEAST_DEVIATION


def fit(
    measured: Sequence[MeasuredProgram],
    config: LearningConfig,
    seed: int,
    *,
    task: str,
    objective: str,
    vector_bytes: int,
    known: tuple[str, ...],
    kind: str,
) -> CostModel:
    """Fit a cost model to measured schedules; the last arguments are fields of CostModel."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    mean, deviation = scales_of(measured)
    scaled = scale_of(known)
    operations = [[np.exp2(one[:, scaled].sum(axis=1)).sum() for one in nest.features] for nest in measured]
    rates = np.concatenate([nest.seconds / each for nest, each in zip(measured, operations, strict=True)])
    sizes = [len(mean), *[config.width] * config.hidden, 1]
    network = Perceptrons(sizes, config.models, float(np.log2(rates).mean()))
    loss = partial(_loss, network, normal=(mean, deviation), scaled=scaled, config=config)
    train([*network.parameters()], loss, measured, config, rng)
    layers = layers_of(network)
    return CostModel(task, objective, known, vector_bytes, mean, deviation, layers, known, kind)


def _loss(
    network: Perceptrons,
    chosen: Sequence[MeasuredProgram],
    normal: tuple[Floats, Floats],
    scaled: list[int],
    config: LearningConfig,
) -> Tensor:
    rows = np.concatenate([one for nest in chosen for one in nest.features])
    trees = [one for nest in chosen for one in nest.features]
    tree = torch.from_numpy(np.repeat(np.arange(len(trees)), [len(one) for one in trees]))
    x = torch.from_numpy(np.clip((rows - normal[0]) / normal[1], -6, 6))
    scale = torch.from_numpy(rows[:, scaled].sum(axis=1))
    log2 = network(x[None])[..., 0] + scale  # [models, N]
    most = torch.full((log2.shape[0], len(trees)), -torch.inf).scatter_reduce(
        1, tree.expand(log2.shape[0], -1), log2, "amax"
    )
    sums = torch.zeros_like(most).scatter_add(
        1, tree.expand(log2.shape[0], -1), torch.exp2(log2 - most[:, tree])
    )
    predicted = most + torch.log2(sums)
    seconds = [np.log2(nest.seconds) for nest in chosen]
    target = torch.from_numpy(np.concatenate(seconds)).float()
    worse = torch.from_numpy(np.concatenate([one - one.min() for one in seconds])).float()
    weight = torch.exp2(-config.favour * worse)
    loss = (
        weight * nn.functional.huber_loss(predicted, target.expand_as(predicted), reduction="none")
    ).mean()
    begin = 0
    ranking = torch.zeros(())
    for nest in chosen:
        end = begin + len(nest.seconds)
        mine, true, heavy = predicted[:, begin:end], target[begin:end], weight[begin:end]
        apart = true[None, :] - true[:, None]  # [a, b]: above 0 where a is faster
        pairs = (apart > PAIR).float() * heavy[:, None] * apart.clamp(max=1.0)
        margin = mine[:, None, :] - mine[:, :, None]
        losses = nn.functional.softplus(-SHARPNESS * margin) * pairs
        ranking = ranking + losses.sum() / (pairs.sum() * mine.shape[0] + 1e-6)
        begin = end
    return config.times * loss + config.ranking * ranking / len(chosen)


PAIR = 0.03  # log2; pairs whose times differ by less are ignored
CLOSEST = 0.1  # log2; the same in `pair_accuracy`
SHARPNESS = 4.0  # factor of the predicted difference in the ranking loss


class Comparing(Protocol):
    """A model that says which of two schedules of a program is faster."""

    def margins(self, trees: Sequence[Floats]) -> Floats:
        """Return float32[n, n]: above 0 where the row's schedule is faster than the column's."""


def pair_accuracy(model: Comparing, measured: Sequence[MeasuredProgram]) -> float:
    """Return the share of pairs in the right order, for pairs in a nest that differ by more than CLOSEST."""
    right = pairs = 0
    for nest in measured:
        true = np.log2(nest.seconds)
        mask = true[None, :] - true[:, None] > CLOSEST
        right += int((model.margins(nest.features) > 0)[mask].sum())
        pairs += int(mask.sum())
    return right / max(1, pairs)


def regret(model: Comparing, measured: Sequence[MeasuredProgram]) -> NDArray[np.float64]:
    """Return, for each nest, the time of the best schedule over that of the model's choice: at most 1.

    The choice has the greatest margin over the other schedules.
    """
    chosen = (np.argmax(model.margins(nest.features).sum(axis=1)) for nest in measured)
    return np.array([nest.seconds.min() / nest.seconds[i] for nest, i in zip(measured, chosen, strict=True)])
