"""Look-ahead of one action: try several in forks of an environment, and value the resulting states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from burnish.core.view import Mask
from burnish.envs.env import Env

Floats = NDArray[np.float64]


class Tried(NamedTuple):
    """A state, and the outcomes of k actions in it."""

    observation: Any
    mask: Mask  # bool[n]
    actions: list[int]  # k, legal
    rewards: list[float]  # k
    ongoing: list[bool]  # k: True if the resulting state has a value
    following: list[Any]  # k: observations of the resulting states
    taken: int = 0  # position, among the k, of the action with which the episode continued


def try_all(
    envs: Sequence[Env],
    observations: Sequence[Any],
    masks: NDArray[np.bool_],
    choices: Sequence[Sequence[int]],
    *,
    bootstrap: bool = True,
) -> list[Tried]:
    """Try some legal actions in each of B environments, whose own states do not change.

    The environments' workers run in parallel, each with one action at a time.

    Args:
        envs: Environments, which are forked once for each action.
        observations: Their current observations.
        masks: Legal actions, bool[B, n].
        choices: Actions to try in each environment.
        bootstrap: Whether a state at the step limit has a value; a state without legal actions never has one.
    """
    states = zip(observations, masks, choices, strict=True)
    found = [Tried(seen, mask, list(actions), [], [], []) for seen, mask, actions in states]
    for turn in range(max(map(len, choices))):
        numbers = [i for i, actions in enumerate(choices) if turn < len(actions)]
        twins = [envs[i].fork() for i in numbers]
        begun = [twin.begin_step(choices[i][turn]) for i, twin in zip(numbers, twins, strict=True)]
        for i, twin, finish in zip(numbers, twins, begun, strict=True):
            observed, reward, terminated, truncated, _ = finish()
            twin.close()
            found[i].rewards.append(reward)
            found[i].ongoing.append(not terminated and (bootstrap or not truncated))
            found[i].following.append(observed)
    return found


def ends(tried: Sequence[Tried]) -> list[Any]:
    """Return the observations whose values are needed, in order: after every action that is `ongoing`."""
    pairs = (pair for state in tried for pair in zip(state.following, state.ongoing, strict=True))
    return [observed for observed, ongoing in pairs if ongoing]


def scores(tried: Sequence[Tried], values: Floats, discount: float) -> tuple[list[Floats], list[Floats]]:
    """Return the scores r + discount V(s') of the actions tried in B states, and V(s'): [k] each.

    `values` are those of the observations that `ends` returns.
    """
    found = iter(values.tolist())
    after = [np.array([next(found) if ongoing else 0.0 for ongoing in state.ongoing]) for state in tried]
    worth = [np.array(state.rewards) + discount * rest for state, rest in zip(tried, after, strict=True)]
    return worth, after
