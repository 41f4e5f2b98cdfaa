"""Small policies: weights by seed, and one that clones LLVM's heuristic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from burnish.llvm.representations.ir2vec import DIMENSION
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron, save_arrays
from burnish.policies.batches import Features
from burnish.policies.choose import Floats
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.observations import (
    CALLEE_VECTOR,
    CALLER_VECTOR,
    FEATURES,
    INLINING_FEATURES,
    QUESTION_VECTORS,
)
from burnish.tasks.llvm_inlining.session import open_inlining
from tests.sources import program

HIDDEN = (40, 40, 20)  # MLGO's
SCALES = ("log1p", "none", "quantiles")


def random_policy(
    seed: int,
    scale: str = "log1p",
    activation: str = "relu",
    *,
    norm: bool = False,
    columns: Sequence[str] = FEATURES,
    hidden: Sequence[int] = HIDDEN,
) -> ArraysPolicy:
    """Return one that inlines half of the calls in classes.cpp, but those that make no sense."""
    rng = np.random.default_rng(seed)
    count = len(columns)
    widths = [count * (4 if scale == "quantiles" else 1), *hidden, len(ACTIONS)]
    layers = [_layer(rng, *pair, norm=norm) for pair in pairwise(widths)]
    steps = np.sort(rng.integers(-50, 500, (count, 20)), axis=1).astype(np.float32)
    encoder = Perceptron(
        scale == "log1p",
        rng.normal(2, 1, count).astype(np.float32),
        rng.uniform(0.5, 4, count).astype(np.float32),
        tuple(layers[:-1]),
        activation,
        steps if scale == "quantiles" else None,
    )
    card = {"task": TASK.id, "observation": "inlining-features", "columns": list(columns), "max_steps": None}
    last = Linear(layers[-1].weight, layers[-1].bias)
    logits = last(encoder(_questions()[:, [FEATURES.index(name) for name in columns]]))
    last.bias[1] -= np.median(logits[:, 1] - logits[:, 0])
    return ArraysPolicy(ACTIONS, Features(), encoder, last, card=card)


def policy_on_vectors(seed: int) -> ArraysPolicy:
    """Return one that observes the callee's and the caller's vector, too, and inlines half of the calls."""
    names = (CALLEE_VECTOR, INLINING_FEATURES, CALLER_VECTOR)
    rng = np.random.default_rng(seed)
    session = open_inlining(program("classes.cpp"))
    both, plain = np.asarray(session.observe(QUESTION_VECTORS)), _questions()
    rows = np.hstack([both[:, :DIMENSION], plain, both[:, DIMENSION:]]).astype(np.float32)
    first, last = _layer(rng, rows.shape[1], 20, norm=False), _layer(rng, 20, len(ACTIONS), norm=False)
    encoder = Perceptron(True, rows.mean(axis=0), rows.std(axis=0) + 1, (first,), "relu", None)
    logits = last(encoder(rows))
    last.bias[1] -= np.median(logits[:, 1] - logits[:, 0])
    card = {"task": TASK.id, "observation": list(names), "max_steps": None}
    return ArraysPolicy(ACTIONS, Features(names), encoder, last, card=card)


@cache
def _questions() -> Floats:
    return open_inlining(program("classes.cpp")).compiled().rows[:, : len(FEATURES)].astype(np.float32)


def _layer(rng: np.random.Generator, inputs: int, outputs: int, *, norm: bool) -> Linear:
    def numbers(mean: float, deviation: float, *shape: int) -> Floats:
        return rng.normal(mean, deviation, shape).astype(np.float32)

    weight, bias = numbers(0, (2 / inputs) ** 0.5, inputs, outputs), numbers(0, 0.1, outputs)
    return (
        Linear(weight, bias, numbers(1, 0.1, outputs), numbers(0, 0.1, outputs))
        if norm
        else Linear(weight, bias)
    )


def random_rows(count: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return rows of features, from a bonus below 0 to a large count."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(0, 5, (count, len(FEATURES)))
    return np.where(rng.random(size.shape) < 0.3, 0, size * rng.choice([-1, 1, 1, 1], size.shape)).astype(
        np.int64
    )


def saved(policy: ArraysPolicy, folder: Path) -> Path:
    """Write a policy's file."""
    save_arrays(policy, path := folder / "policy.npz")
    return path
