"""Fitting of a comparison model to measured schedules: to which of two schedules of a program is faster.

The loss is the cross-entropy of pairs, -log sigmoid(log-odds that a is faster than b), if a is faster by more
than PAIR: closer times are noise. Pairs of fast schedules weigh more, as in the fit of a cost model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from burnish.tasks.tensors.policy.comparison_model import ComparisonModel
from burnish.tasks.tensors.train.fitting import (
    PAIR,
    LearningConfig,
    MeasuredProgram,
    Perceptrons,
    layers_of,
    scales_of,
    train,
)

EMBEDDED = 32  # numbers of a schedule's embedding: 64 order no more held-out pairs


def fit_comparison(
    measured: Sequence[MeasuredProgram],
    config: LearningConfig,
    seed: int,
    *,
    task: str,
    objective: str,
    vector_bytes: int,
    known: tuple[str, ...],
    kind: str,
) -> ComparisonModel:
    """Fit a comparison model to measured schedules; the last arguments are fields of ComparisonModel."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    mean, deviation = scales_of(measured)
    hidden = [config.width] * config.hidden
    embedding = Perceptrons([len(mean), *hidden, EMBEDDED], config.models)
    judge = Perceptrons([2 * EMBEDDED, *hidden, 1], config.models)

    def loss(chosen: Sequence[MeasuredProgram]) -> Tensor:
        trees = [one for nest in chosen for one in nest.features]
        normal = np.clip((np.concatenate(trees) - mean) / deviation, -6, 6)
        statements = embedding(torch.from_numpy(normal)[None])
        tree = torch.from_numpy(np.repeat(np.arange(len(trees)), [len(one) for one in trees]))
        shape = (config.models, len(trees), EMBEDDED)
        embedded = torch.zeros(shape).index_add(1, tree, statements)
        faster, slower, weight = _pairs(chosen, config, rng)
        one, other = embedded[:, faster], embedded[:, slower]
        odds = judge(torch.cat([one, other], -1)) - judge(torch.cat([other, one], -1))
        return (nn.functional.softplus(-odds[..., 0]) * weight).sum() / (weight.sum() * config.models + 1e-6)

    train([*embedding.parameters(), *judge.parameters()], loss, measured, config, rng)
    return ComparisonModel(
        task,
        objective,
        known,
        vector_bytes,
        mean,
        deviation,
        layers_of(embedding),
        layers_of(judge),
        known,
        kind,
    )


def _pairs(
    chosen: Sequence[MeasuredProgram], config: LearningConfig, rng: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw pairs of schedules in each program: the faster one, the slower one, by number, and the weight."""
    found, begin = [], 0
    for nest in chosen:
        time, count = np.log2(nest.seconds), len(nest.seconds)
        one, other = rng.integers(count, size=(2, config.pairs))
        swapped = time[one] > time[other]
        fast, slow = np.where(swapped, other, one), np.where(swapped, one, other)
        apart = time[slow] - time[fast]
        weight = (apart > PAIR) * np.exp2(-config.favour * (time[fast] - time.min())) * np.minimum(apart, 1)
        found.append((fast + begin, slow + begin, weight / (weight.sum() + 1e-6)))
        begin += count
    fast, slow, weights = (np.concatenate(part) for part in zip(*found, strict=True))
    return torch.from_numpy(fast), torch.from_numpy(slow), torch.from_numpy(weights).float()
