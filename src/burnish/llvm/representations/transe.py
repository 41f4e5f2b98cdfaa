"""TransE (Bordes et al. 2013): seed vectors of entities from what relates them.

Vectors are learned such that head + relation is near tail for each triplet that was seen, and farther from
the tail, or the head, of one that was not. Triplets are IR2Vec's: an opcode, and its type, the opcode of the
next instruction or one of its operands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Triplets = NDArray[np.int64]  # [M, 4]: head, relation, tail, count


@dataclass(frozen=True)
class TransEConfig:
    """How vectors are trained: full batches of all distinct triplets, by Adam."""

    dimension: int = 75
    steps: int = 3000
    margin: float = 1.0
    learning_rate: float = 0.01
    rarity: float = 0.5
    """A triplet weighs its count to this power: by the count alone, loads and stores would be all that is
    learned, by 0 an accident would be a fact."""
    seed: int = 0


def train(triplets: Triplets, entities: int, options: TransEConfig | None = None) -> tuple[Floats, Floats]:
    """Return vectors of the entities, of unit length, 0 where no triplet has them, and of the relations."""
    options = options or TransEConfig()
    rng = np.random.default_rng(options.seed)
    head, relation, tail, count = triplets.T
    relations = int(relation.max()) + 1
    weight = count**options.rarity
    weight /= weight.sum()
    known = np.zeros((entities, relations, entities), dtype=bool)
    known[head, relation, tail] = True
    parameters = rng.uniform(-1, 1, (entities + relations, options.dimension)) * 6 / options.dimension**0.5
    optimizer = _Adam(parameters.shape, options.learning_rate)
    rows = np.stack([head, relation + entities, tail])
    for _ in range(options.steps):
        parameters[:entities] /= np.linalg.norm(parameters[:entities], axis=1, keepdims=True)
        wrong = rows.copy()
        replaced = rng.integers(0, 2, len(head)) * 2, np.arange(len(head))  # the head or the tail
        wrong[replaced] = rng.integers(0, entities, len(head))
        parameters -= optimizer.step(_gradient(parameters, rows, wrong, weight, known, options.margin))
    vectors = parameters[:entities] / np.linalg.norm(parameters[:entities], axis=1, keepdims=True)
    seen = np.isin(np.arange(entities), [head, tail])
    return vectors * seen[:, None], parameters[entities:]


def tail_ranks(triplets: Triplets, vectors: Floats, relations: Floats) -> NDArray[np.int64]:
    """Return int64[M]: how many entities with a vector are nearer to head + relation than tail is."""
    head, relation, tail, _ = triplets.T
    seen = np.abs(vectors).sum(axis=1) > 0
    wanted = vectors[head] + relations[relation]
    distance = np.linalg.norm(wanted[:, None] - vectors, axis=2)
    own = np.take_along_axis(distance, tail[:, None], axis=1)
    ranks: NDArray[np.int64] = ((distance < own) & seen).sum(axis=1)
    return ranks


class _Adam:
    """Adam (Kingma and Ba 2015) with its usual constants."""

    def __init__(self, shape: tuple[int, ...], learning_rate: float) -> None:
        self.mean = np.zeros(shape)
        self.square = np.zeros(shape)
        self.learning_rate = learning_rate
        self.steps = 0

    def step(self, gradient: Floats) -> Floats:
        self.steps += 1
        self.mean += 0.1 * (gradient - self.mean)
        self.square += 0.001 * (gradient**2 - self.square)
        mean = self.mean / (1 - 0.9**self.steps)
        square = self.square / (1 - 0.999**self.steps)
        update: Floats = self.learning_rate * mean / (np.sqrt(square) + 1e-8)
        return update


def _gradient(
    parameters: Floats,
    right: Triplets,
    wrong: Triplets,
    weight: Floats,
    known: NDArray[np.bool_],
    margin: float,
) -> Floats:
    """Return the gradient of sum of weight max(0, margin + |h + r - t| - |h' + r' - t'|)."""
    entities = known.shape[0]
    near, far = _difference(parameters, right), _difference(parameters, wrong)
    near_length, far_length = np.linalg.norm(near, axis=1), np.linalg.norm(far, axis=1)
    head, relation, tail = wrong
    counts = (margin + near_length > far_length) & ~known[head, relation - entities, tail]
    gradient = np.zeros_like(parameters)
    for (head, relation, tail), difference, length, sign in (
        (right, near, near_length, 1.0),
        (wrong, far, far_length, -1.0),
    ):
        slope = difference * (sign * weight * counts / np.maximum(length, 1e-12))[:, None]
        np.add.at(gradient, head, slope)
        np.add.at(gradient, relation, slope)
        np.add.at(gradient, tail, -slope)
    return gradient


def _difference(parameters: Floats, rows: Triplets) -> Floats:
    head, relation, tail = rows
    difference: Floats = parameters[head] + parameters[relation] - parameters[tail]
    return difference
