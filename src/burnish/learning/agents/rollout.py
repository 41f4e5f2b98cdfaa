"""Whole episodes of many environments, of which none waits for the slowest.

Passes differ a hundredfold in time. What a seed leads to must not depend on that, though, and a network's
last bits depend on how many rows it is given. So environments act in groups that are always the same, each as
soon as all of its members are ready, and what is played is told apart by environment, not by time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.core.view import Mask
from burnish.envs.env import Next
from burnish.envs.vector import VectorEnv

Notes = NDArray[np.float64]
Act = Callable[[Sequence[int], list[Any], NDArray[np.bool_]], tuple[NDArray[np.int64], Notes]]
"""From the numbers of B environments, what they observe and bool[B, n]: to int64[B] and notes [B, k]."""


@dataclass
class Episode:
    """One program from its beginning to its end, in L steps."""

    program: str  # its name
    observations: list[Any]  # L + 1; the last one is what it ended in
    masks: list[Mask]  # L + 1
    actions: list[int] = field(default_factory=list)  # L
    rewards: list[float] = field(default_factory=list)  # L
    notes: list[Notes] = field(default_factory=list)  # L: what was said beside the actions, [k]
    terminated: bool = False  # nothing was legal any more, or the compiler crashed
    truncated: bool = False
    crashed: bool = False

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to come."""
        return self.terminated or self.truncated


@dataclass(frozen=True)
class EarlyEnd:
    """When what is slow is not waited for: as EarlyExitChecker in ml-compiler-opt's rl/data_collector.py.

    What is played then depends on time, and no longer on the seed alone.
    """

    deadline_seconds: float = 30.0
    waits: tuple[tuple[float, float], ...] = ((0.9, 0.0), (0.8, 0.5), (0.0, 1.0))
    """Pairs: where at least such a share is done, the end is after such a share of the deadline."""

    def __post_init__(self) -> None:
        """Raise InputError for a deadline that is over at once."""
        if not self.deadline_seconds > 0:
            raise InputError(f"an early end after {self.deadline_seconds} seconds; expected more than 0")

    def after(self, share: float) -> float:
        """Return after how many seconds a batch ends of which such a share is done; perhaps never."""
        return min(
            (part * self.deadline_seconds for least, part in self.waits if share >= least), default=math.inf
        )

    @classmethod
    def within(cls, seconds: float | None) -> EarlyEnd | None:
        """Return the rule with a deadline; None without one: all is waited for."""
        return None if seconds is None else cls(seconds)


def play(
    envs: VectorEnv,
    act: Act,
    *,
    steps: int,
    seed: int,
    together: int = 1,
    early_end: EarlyEnd | None = None,
) -> list[Episode]:
    """Reset the environments and play whole episodes: in each at least so many steps, then to the end.

    Args:
        envs: They have to end every episode: their `max_steps` is finite.
        act: Chooses, for a group of environments that are ready.
        steps: Of each environment, at least.
        seed: Of the first environment's first program; the others' are those in a row.
        together: How many environments a group has.
        early_end: By the share of environments that are done: the episodes that others are in are then left
            out, and their compilers killed. Where none is over yet, the first is waited for.

    Returns:
        Episodes in the order of their environments, then of time.

    Raises:
        InputError: no action is legal in a program.
    """
    observed, infos = envs.reset(seed=seed)
    starts = zip(iterate(envs.observation_space, observed), infos["mask"], infos["program"], strict=True)
    played = [[_begin(*start)] for start in starts]
    groups = [
        list(range(i, min(i + together, envs.num_envs))) for i in range(0, envs.num_envs, max(1, together))
    ]
    waiting: list[set[int]] = [set(group) for group in groups]
    begin = time.monotonic()
    for group, ready in zip(groups, waiting, strict=True):
        _go_on(envs, act, group, ready, played)

    def end() -> float:
        """Return when those that are not done are waited for no longer."""
        if not early_end or not any(_over(played)):
            return math.inf
        return begin + early_end.after(1 - sum(map(len, groups)) / envs.num_envs)

    while any(groups) and time.monotonic() < end():
        for i, step in envs.ready(end()):
            group, ready = groups[i // together], waiting[i // together]
            if not _record(played[i], step):
                ready.add(i)
            elif sum(map(len, played[i])) < steps:
                envs.send(i, 0)  # which begins the next episode
            else:
                group.remove(i)
            _go_on(envs, act, group, ready, played)
    envs.give_up()
    return list(_over(played))


def _over(played: Sequence[Sequence[Episode]]) -> Iterator[Episode]:
    return (episode for episodes in played for episode in episodes if episode.over)


def summary(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the metrics of what was played: means of return and length, and how many crashed."""
    return {
        "return": float(np.mean([sum(episode.rewards) for episode in episodes])),
        "length": float(np.mean([len(episode) for episode in episodes])),
        "crashes": float(sum(episode.crashed for episode in episodes)),
    }


def draw(log_probs: NDArray[np.float32], uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw from each row of log-probabilities [B, n] by a number from [0, 1): int64[B].

    What has probability 0 is never drawn.
    """
    ends = np.cumsum(np.exp(log_probs.astype(np.float64)), axis=1)
    threshold = (1 - uniform) * ends[:, -1]  # in (0, all]: a row's first 0 is below it, its last end is not
    drawn: NDArray[np.int64] = (ends < threshold[:, None]).sum(axis=1)
    return drawn


def _begin(observation: Any, mask: Mask, program: str) -> Episode:
    if not mask.any():
        raise InputError(f"{program}: nothing is legal; leave it out, or choose among more actions")
    return Episode(program, [observation], [mask])


def _record(episodes: list[Episode], step: Next) -> bool:
    """Add a step to the last episode, or the episode that a reset began; return whether it is over."""
    observation, reward, terminated, truncated, info = step
    episode = episodes[-1]
    if episode.over:
        episodes.append(_begin(observation, info["mask"], info["program"]))
        return False
    episode.observations.append(observation)
    episode.masks.append(info["mask"])
    episode.rewards.append(reward)
    episode.terminated, episode.truncated, episode.crashed = terminated, truncated, "error" in info
    return episode.over


def _go_on(envs: VectorEnv, act: Act, group: list[int], ready: set[int], played: list[list[Episode]]) -> None:
    """Act in a group if all of its members are ready."""
    if not group or len(ready) < len(group):
        return
    ready.clear()
    episodes = [played[i][-1] for i in group]
    masks = np.stack([episode.masks[-1] for episode in episodes])
    actions, notes = act(group, [episode.observations[-1] for episode in episodes], masks)
    for i, episode, action, note in zip(group, episodes, actions.tolist(), notes, strict=True):
        episode.actions.append(action)
        episode.notes.append(note)
        envs.send(i, action)
