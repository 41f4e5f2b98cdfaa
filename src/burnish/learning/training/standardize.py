"""Standardization of features to mean 0 and deviation 1, on random play or the compiler's own decisions."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.rollout import play
from burnish.learning.networks.elements import VectorEmbedding
from burnish.learning.networks.encoder import Encoder
from burnish.learning.networks.mixture import Mixture
from burnish.learning.networks.mlp import MLP
from burnish.learning.networks.sequence import LSTM, Transformer
from burnish.learning.training.config import Config
from burnish.policies.batches import Rows
from burnish.workers.worker import Limits

Observations = list[Any]

RANDOM, DEFAULT = "random", "default"


def check_standardize_on(standardize_on: str, task: Task) -> None:
    """Raise InputError if a task does not support `run.standardize_on`, or a file named there is missing."""
    if standardize_on != RANDOM and not task.policies.default_observations:
        raise InputError(
            f"run.standardize_on is {standardize_on!r}; expected 'random', because there are no default "
            f"decisions in {task.name}"
        )
    if standardize_on not in (RANDOM, DEFAULT) and not Path(standardize_on).exists():
        raise InputError(
            f"run.standardize_on: {standardize_on}: expected 'random', 'default', or a file or a folder that "
            "exists"
        )


def default_observations(
    config: Config, task: Task, programs: Sequence[Program], limits: Limits
) -> Observations:
    """Return observations under the compiler's own decisions, on programs or as read from a file."""
    run, table = config.run, config.environment
    traces = pkgutil.resolve_name(task.policies.default_observations)
    source = programs if run.standardize_on == DEFAULT else Path(run.standardize_on)
    observation = table.observation or next(iter(task.observations))
    found: Observations = traces(task, source, observation, most=run.standardize_steps, limits=limits)
    return found


def random_observations(envs: VectorEnv, steps: int, seed: int) -> Observations:
    """Return the observations of whole episodes of random legal actions: at least `steps` by environment."""
    rngs = [np.random.default_rng((seed, i)) for i in range(envs.num_envs)]

    def act(
        numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        chosen = [rngs[i].choice(np.flatnonzero(mask)) for i, mask in zip(numbers, masks, strict=True)]
        return np.array(chosen, dtype=np.int64), np.zeros((len(chosen), 0))

    played = play(envs, act, steps=steps, seed=seed)
    return [observation for episode in played for observation in episode.observations]


def standardize(encoder: Encoder, observations: Observations) -> None:
    """Set means and deviations in every network on features or rows of features, also within mixtures."""
    if isinstance(encoder, MLP) and observations:
        encoder.standardize(observations)
    if isinstance(encoder, (LSTM, Transformer)) and observations:
        embedding, inputs = encoder.embedding, encoder.inputs
        if isinstance(embedding, VectorEmbedding) and isinstance(inputs, Rows):
            embedding.standardize([inputs.kept(observed) for observed in observations])
    if isinstance(encoder, Mixture):
        for name, part in zip(encoder.names, encoder.parts, strict=True):
            if isinstance(part, Encoder):
                standardize(part, [observation[name] for observation in observations])


def has_features(encoder: Encoder) -> bool:
    """Return whether an encoder has features to standardize."""
    parts = encoder.parts if isinstance(encoder, Mixture) else [encoder]
    return any(
        isinstance(part, MLP) or (isinstance(part, Encoder) and isinstance(part.inputs, Rows))
        for part in parts
    )
