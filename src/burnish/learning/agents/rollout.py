"""Whole episodes of many environments, without waiting for the slowest environment.

The times of passes differ a hundredfold. The results of a seed must not depend on these times, but the last
bits of a network's output depend on the number of rows in its batch. So environments act in fixed groups,
each group as soon as all its members are ready, and episodes are ordered by environment, not by time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.core.view import Mask
from burnish.envs.env import Next
from burnish.envs.vector import VectorEnv

STOP_SECONDS = 0.05
Notes = NDArray[np.float64]
Act = Callable[[Sequence[int], list[Any], NDArray[np.bool_]], tuple[NDArray[np.int64], Notes]]
"""From the numbers, observations and masks bool[B, n] of B environments to actions int64[B], notes [B, k]."""


@dataclass
class Episode:
    """An episode of L steps on one program."""

    program: str  # its name
    observations: list[Any]  # L + 1; the last one is of the final state
    masks: list[Mask]  # L + 1
    actions: list[int] = field(default_factory=list)  # L
    rewards: list[float] = field(default_factory=list)  # L
    notes: list[Notes] = field(default_factory=list)  # L: the actor's notes on each action, [k]
    terminated: bool = False  # no action was legal any more, or the compiler crashed
    truncated: bool = False
    crashed: bool = False
    cut: bool = False  # play stopped before the episode was over; it counts as truncated

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def over(self) -> bool:
        """True if the episode has ended."""
        return self.terminated or self.truncated

    def cut_here(self) -> Episode:
        """Return the episode as it is, without an action whose step has not ended."""
        done = len(self)
        return replace(self, actions=self.actions[:done], notes=self.notes[:done], truncated=True, cut=True)


@dataclass(frozen=True)
class EarlyEnd:
    """Rule for abandoning slow environments: EarlyExitChecker in ml-compiler-opt's rl/data_collector.py.

    With it, the episodes depend on time, and no longer on the seed alone.
    """

    deadline_seconds: float = 30.0
    waits: tuple[tuple[float, float], ...] = ((0.9, 0.0), (0.8, 0.5), (0.0, 1.0))
    """Pairs (share of environments that are done at least, share of the deadline after which to end)."""

    def __post_init__(self) -> None:
        """Raise InputError if the deadline is not above 0."""
        if not self.deadline_seconds > 0:
            raise InputError(f"an early end after {self.deadline_seconds} seconds; expected more than 0")

    def after(self, share: float) -> float:
        """Return the seconds after which to end if `share` of the environments are done; perhaps infinity."""
        return min(
            (part * self.deadline_seconds for least, part in self.waits if share >= least), default=math.inf
        )

    @classmethod
    def within(cls, seconds: float | None) -> EarlyEnd | None:
        """Return the rule with a deadline in seconds; None for None, which waits for all environments."""
        return None if seconds is None else cls(seconds)


def play(
    envs: VectorEnv,
    act: Act,
    *,
    steps: int,
    seed: int,
    together: int = 1,
    early_end: EarlyEnd | None = None,
    stop: Callable[[int], bool] | None = None,
) -> list[Episode]:
    """Reset the environments and play whole episodes, until each environment has played `steps` steps.

    Args:
        envs: The environments; they must end every episode, so their `max_steps` is finite.
        act: Chooses actions for a group of environments that are ready.
        steps: Fewest steps of each environment; the last episode is played to its end.
        seed: Seed of the first environment's first program; the other environments have the next numbers.
        together: Number of environments in a group.
        early_end: Rule that ends the play early. Unfinished episodes are then left out and their compilers
            killed. The first finished episode is always awaited.
        stop: Called with the number of steps so far, about every STOP_SECONDS; True ends the play.
            Unfinished episodes are then cut, and their compilers killed.

    Returns:
        Episodes in the order of their environments, then of time.

    Raises:
        InputError: no action is legal in a program.
    """
    observed, infos = envs.reset(seed=seed)
    starts = zip(iterate(envs.observation_space, observed), infos["mask"], infos["program"], strict=True)
    played = [[begun(*start)] for start in starts]
    groups = [
        list(range(i, min(i + together, envs.num_envs))) for i in range(0, envs.num_envs, max(1, together))
    ]
    waiting: list[set[int]] = [set(group) for group in groups]
    begin = time.monotonic()
    for group, ready in zip(groups, waiting, strict=True):
        _go_on(envs, act, group, ready, played)

    def end() -> float:
        """Return the time, by time.monotonic(), at which unfinished environments are abandoned."""
        if not early_end or not any(_over(played)):
            return math.inf
        return begin + early_end.after(1 - sum(map(len, groups)) / envs.num_envs)

    stopped, asked = False, begin
    while any(groups) and not stopped and time.monotonic() < end():
        for i, step in envs.ready(min(end(), time.monotonic() + STOP_SECONDS) if stop else end()):
            group, ready = groups[i // together], waiting[i // together]
            if not record(played[i], step):
                ready.add(i)
            elif sum(map(len, played[i])) < steps:
                envs.send(i, 0)  # begins the next episode
            else:
                group.remove(i)
            _go_on(envs, act, group, ready, played)
        if stop and time.monotonic() >= asked + STOP_SECONDS:
            asked = time.monotonic()
            stopped = stop(sum(len(episode) for one in played for episode in one))
    envs.give_up()
    if not stopped:
        return list(_over(played))
    return [
        episode if episode.over else episode.cut_here() for one in played for episode in one if len(episode)
    ]


def _over(played: Sequence[Sequence[Episode]]) -> Iterator[Episode]:
    return (episode for episodes in played for episode in episodes if episode.over)


def summary(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the metrics of episodes: means of return and length without those cut, and the crashes."""
    whole = [episode for episode in episodes if not episode.cut]
    return {
        "return": float(np.mean([sum(episode.rewards) for episode in whole])) if whole else math.nan,
        "length": float(np.mean([len(episode) for episode in whole])) if whole else math.nan,
        "crashes": float(sum(episode.crashed for episode in episodes)),
    }


def draw(log_probs: NDArray[np.float32], uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw an action from each row of log-probabilities [B, n] with a number from [0, 1): int64[B].

    An action of probability 0 is never drawn.
    """
    ends = np.cumsum(np.exp(log_probs.astype(np.float64)), axis=1)
    threshold = (1 - uniform) * ends[:, -1]  # in (0, total]: above a leading 0, at most the last end
    drawn: NDArray[np.int64] = (ends < threshold[:, None]).sum(axis=1)
    return drawn


def begun(observation: Any, mask: Mask, program: str) -> Episode:
    """Return an episode without steps.

    Raises:
        InputError: no action is legal.
    """
    if not mask.any():
        raise InputError(f"{program}: no action is legal; leave the program out, or allow more actions")
    return Episode(program, [observation], [mask])


def record(episodes: list[Episode], step: Next) -> bool:
    """Add a step to the last episode, or a new episode after a reset; return whether it is over."""
    observation, reward, terminated, truncated, info = step
    episode = episodes[-1]
    if episode.over:
        episodes.append(begun(observation, info["mask"], info["program"]))
        return False
    episode.observations.append(observation)
    episode.masks.append(info["mask"])
    episode.rewards.append(reward)
    episode.terminated, episode.truncated, episode.crashed = terminated, truncated, "error" in info
    return episode.over


def _go_on(envs: VectorEnv, act: Act, group: list[int], ready: set[int], played: list[list[Episode]]) -> None:
    """Act in a group of environments if all its members are ready."""
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
