"""What every algorithm has, so that training, checkpoints and evaluation know none of them by name.

A learner draws all its random numbers from generators that it makes of its seed and of what it has counted.
None of them outlives an iteration: a checkpoint holds parameters and counters, and goes on to the same curve.
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
    """An algorithm in the middle of its work: made of environments, a policy's maker, a config and a seed."""

    envs: VectorEnv

    @property
    def policy(self) -> Actor:
        """Return what it learns."""

    def iterate(self) -> dict[str, float]:
        """Play, learn from it, and return metrics; the environments are reset first.

        "steps" and "episodes" are those so far; "return" and "length" are means of this iteration's
        episodes, where there were any; losses are named "loss/...". Times are not among them: the same
        seed has the same metrics.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on: tensors, numbers and lists, of which torch.save makes a file.

        Tensors are those in use, not copies.
        """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another learner with the same config was when it returned `state`.

        Raises:
            InputError: it is of another algorithm.
        """


def generator(seed: int, iteration: int, stream: int) -> np.random.Generator:
    """Return the random numbers of one purpose in one iteration."""
    return np.random.default_rng((seed, iteration, stream))


@contextmanager
def seeded_torch(seed: int, iteration: int) -> Iterator[None]:
    """Seed torch's own generator, which makes initial weights and dropout; it is put back at the end."""
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence((seed, iteration)).generate_state(1, np.uint64)[0]))
        yield


def first_program(seed: int, episodes: int) -> int:
    """Return what the environments are reset with after so many episodes: no number comes twice.

    In a cycle it is the number of the next program, so an iteration goes on where the last one stopped.
    """
    return int(np.random.default_rng(seed).integers(2**31)) + episodes


def descend(
    optimizer: torch.optim.Optimizer, loss: Tensor, *networks: torch.nn.Module, max_norm: float
) -> Tensor:
    """Take a gradient step; return the gradient's norm in the last of the networks.

    Args:
        optimizer: Of the networks.
        loss: float32[], to go down.
        networks: Each has its gradient clipped for itself.
        max_norm: To this norm.

    Raises:
        RuntimeError: a gradient is infinite or no number; nothing was changed.
    """
    optimizer.zero_grad()
    loss.backward()
    norm = torch.zeros(())
    for network in networks:
        norm = torch.nn.utils.clip_grad_norm_(network.parameters(), max_norm, error_if_nonfinite=True)
    optimizer.step()
    return norm


def means(measured: Sequence[Mapping[str, Tensor]]) -> dict[str, float]:
    """Return the mean of each metric over updates; nothing where there was no update."""
    names = measured[0] if measured else ()
    return {name: float(np.mean([float(row[name]) for row in measured])) for name in names}


def move_towards(target: torch.nn.Module, network: torch.nn.Module, tau: float) -> None:
    """Make a target network (1 - tau) of what it is + tau of another; buffers are copied."""
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
    """Raise InputError if a field of a config is outside of its range, bounds included; None is no number."""
    for name, (low, high) in ranges.items():
        value = getattr(config, name)
        if value is not None and not low <= value <= high:
            expected = f"at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
            raise InputError(f"{type(config).__name__}.{name}: expected a number {expected}, not {value!r}")
