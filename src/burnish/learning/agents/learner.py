"""Interface of all algorithms, so that training, checkpoints and evaluation need no algorithm's name.

A learner draws all random numbers from generators that it makes from its seed and its counters. No generator
outlives an iteration, so a checkpoint of parameters and counters continues with the same curve.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from burnish.core.errors import InputError
from burnish.envs.vector import VectorEnv
from burnish.policies.choose import Actor


class Learner(Protocol):
    """A running algorithm, made from environments, a policy factory, a config and a seed."""

    envs: VectorEnv

    @property
    def policy(self) -> Actor:
        """The policy that is trained."""

    def iterate(self) -> dict[str, float]:
        """Reset the environments, play, learn from the episodes, and return metrics.

        "steps" and "episodes" are totals so far. "return" and "length" are means over this iteration's
        episodes, if there were any. Losses are named "loss/...". Times are not included, so the same seed
        gives the same metrics.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs: tensors, numbers and lists, for torch.save.

        Tensors are those in use, not copies.
        """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another learner with the same config.

        Raises:
            InputError: the state is of another algorithm.
        """


def generator(seed: int, iteration: int, stream: int) -> np.random.Generator:
    """Return the random generator of one iteration and one purpose, which `stream` numbers."""
    return np.random.default_rng((seed, iteration, stream))


@contextmanager
def seeded_torch(seed: int, iteration: int) -> Iterator[None]:
    """Seed torch's global generator, for initial weights and dropout; its state is restored at the end."""
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence((seed, iteration)).generate_state(1, np.uint64)[0]))
        yield


def first_program(seed: int, episodes: int) -> int:
    """Return the seed of the environments' next reset after `episodes` episodes; seeds do not repeat.

    In a cycle of programs it is the next program's number, so an iteration continues after the last program.
    """
    return int(np.random.default_rng(seed).integers(2**31)) + episodes


def descend(
    optimizer: torch.optim.Optimizer, loss: Tensor, *networks: torch.nn.Module, max_norm: float
) -> Tensor:
    """Take a gradient step; return the norm of the last network's gradient before clipping.

    Args:
        optimizer: The networks' optimizer.
        loss: float32[], which is minimised.
        networks: Networks whose gradients are clipped, each separately.
        max_norm: Largest norm of a clipped gradient.

    Raises:
        RuntimeError: a gradient is infinite or NaN; no parameter was changed.
    """
    optimizer.zero_grad()
    loss.backward()
    norm = torch.zeros(())
    for network in networks:
        norm = torch.nn.utils.clip_grad_norm_(network.parameters(), max_norm, error_if_nonfinite=True)
    optimizer.step()
    return norm


def means(measured: Sequence[Mapping[str, Tensor]]) -> dict[str, float]:
    """Return the mean of each metric over updates; an empty dict if there was no update."""
    names = measured[0] if measured else ()
    return {name: float(np.mean([float(row[name]) for row in measured])) for name in names}


def move_towards(target: torch.nn.Module, network: torch.nn.Module, tau: float) -> None:
    """Set a target network's parameters to (1 - tau) * target + tau * network; copy the buffers."""
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), network.parameters(), strict=True):
            slow.lerp_(fast, tau)
        for old, new in zip(target.buffers(), network.buffers(), strict=True):
            old.copy_(new)


def check_algorithm(state: dict[str, Any], name: str) -> None:
    """Raise InputError if a state is of another algorithm."""
    if state.get("algorithm") != name:
        raise InputError(f"expected the state of {name}, not of {state.get('algorithm')!r}")


def check_ranges(config: object, **ranges: tuple[float, float]) -> None:
    """Raise InputError if a field of a config is not None and outside its range, bounds included."""
    for name, (low, high) in ranges.items():
        value = getattr(config, name)
        if value is not None and not low <= value <= high:
            expected = f"at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
            raise InputError(f"{type(config).__name__}.{name}: expected a number {expected}, not {value!r}")
