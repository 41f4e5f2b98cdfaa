"""Standardizing features by random play, so that networks see numbers of mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.agents.networks.encoder import Encoder
from burnish.agents.networks.mixture import Mixture
from burnish.agents.networks.mlp import MLP
from burnish.agents.rollout import play
from burnish.core.vector import VectorEnv

Observations = list[Any]


def random_observations(envs: VectorEnv, steps: int, seed: int) -> Observations:
    """Return what is seen while random legal actions are taken, whole episodes long.

    Args:
        envs: They are reset.
        steps: Of each environment, at least.
        seed: Of programs and actions.
    """
    rngs = [np.random.default_rng((seed, i)) for i in range(envs.num_envs)]

    def act(
        numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        chosen = [rngs[i].choice(np.flatnonzero(mask)) for i, mask in zip(numbers, masks, strict=True)]
        return np.array(chosen, dtype=np.int64), np.zeros((len(chosen), 0))

    played = play(envs, act, steps=steps, seed=seed)
    return [observation for episode in played for observation in episode.observations]


def standardize(encoder: Encoder, observations: Observations) -> None:
    """Give every perceptron on features, also those in mixtures, their means and deviations."""
    if isinstance(encoder, MLP) and observations:
        encoder.standardize(observations)
    if isinstance(encoder, Mixture):
        for name, part in zip(encoder.names, encoder.parts, strict=True):
            if isinstance(part, Encoder):
                standardize(part, [observation[name] for observation in observations])


def has_features(encoder: Encoder) -> bool:
    """Return whether there is anything to standardize."""
    parts = encoder.parts if isinstance(encoder, Mixture) else [encoder]
    return any(isinstance(part, MLP) for part in parts)
