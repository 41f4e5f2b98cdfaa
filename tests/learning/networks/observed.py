"""Small random observations, and what is asserted of every encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from burnish.core.objective import GraphArrays
from burnish.learning.networks.encoder import Encoder
from burnish.llvm.representations.graph import FLOWS, KINDS


def graph(rng: np.random.Generator, nodes: int, edges: int) -> GraphArrays:
    """Return a multigraph with the columns of programl."""
    columns = [rng.integers(0, high, nodes) for high in (len(KINDS), 50, 3, 9)]
    links = rng.integers(0, nodes, (edges, 2)) if nodes else np.zeros((0, 2), dtype=np.int64)
    flow = rng.integers(0, len(FLOWS), len(links))
    position = rng.integers(0, 5, len(links))
    return GraphArrays(np.stack(columns, axis=1), np.column_stack([links, flow, position]))


def graphs(seed: int, sizes: Sequence[int] = (7, 1, 12, 5)) -> list[GraphArrays]:
    rng = np.random.default_rng(seed)
    return [graph(rng, size, 3 * size) for size in sizes]


def encoded(encoder: Encoder, observations: Sequence[Any]) -> Tensor:
    with torch.no_grad():
        vectors: Tensor = encoder(encoder.collate(observations))
    assert vectors.shape == (len(observations), encoder.width)
    assert vectors.isfinite().all()
    return vectors


def same(left: Tensor, right: Tensor) -> bool:
    return torch.allclose(left, right, rtol=0, atol=1e-5)


def batched_is_one_by_one(encoder: Encoder, observations: Sequence[Any]) -> bool:
    single = [encoded(encoder, [observed]) for observed in observations]
    return same(encoded(encoder, observations), torch.cat(single))


def gradients_are_right(encoder: Encoder, observations: Sequence[Any]) -> bool:
    """Compare every parameter's gradient with finite differences, in double precision."""
    encoder = encoder.double()
    batch = encoder.collate(observations)
    parameters = dict(encoder.named_parameters())

    def output(*values: Tensor) -> Tensor:
        found: Tensor = torch.func.functional_call(
            encoder, dict(zip(parameters, values, strict=True)), (batch,)
        )
        return found

    values = [value.detach().requires_grad_() for value in parameters.values()]
    return bool(torch.autograd.gradcheck(output, values, fast_mode=True))


def loss_after_fitting(
    encoder: Encoder, observations: Sequence[Any], steps: int = 100
) -> tuple[float, float]:
    """Learn a number of each observation by heart; return the mean squared errors before and after."""
    targets = torch.linspace(-1, 1, len(observations))
    head = nn.Linear(encoder.width, 1)
    adam = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=5e-3)
    batch = encoder.collate(observations)
    losses = []
    for _ in range(steps):
        loss = (head(encoder(batch)).squeeze(1) - targets).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses[0], losses[-1]
