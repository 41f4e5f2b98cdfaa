"""Look ahead by one action: try several in forks of an environment, and value what they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from burnish.core.view import Mask
from burnish.envs.env import Env

Floats = NDArray[np.float64]


class Tried(NamedTuple):
    """A state, and what each of k actions leads to; `taken` is the one after which the episode went on."""

    observation: Any
    mask: Mask  # bool[n]
    actions: list[int]  # k, legal
    rewards: list[float]  # k
    ongoing: list[bool]  # k: whether it has a value
    following: list[Any]  # k: what is observed then
    taken: int = 0  # of the k


def try_all(
    envs: Sequence[Env],
    observations: Sequence[Any],
    masks: NDArray[np.bool_],
    choices: Sequence[Sequence[int]],
    *,
    bootstrap: bool = True,
) -> list[Tried]:
    """Try some legal actions in each of B environments, which stay as they are.

    The environments' workers try their actions at the same time, one each.

    Args:
        envs: Forked once for each action.
        observations: What they observe.
        masks: What is legal, bool[B, n].
        choices: Of each environment.
        bootstrap: False where a state at the step limit has no value; one where nothing is legal never has.
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
    """Return what is observed where values are needed: after every action that is not the last, in order."""
    pairs = (pair for state in tried for pair in zip(state.following, state.ongoing, strict=True))
    return [observed for observed, ongoing in pairs if ongoing]


def scores(tried: Sequence[Tried], values: Floats, discount: float) -> tuple[list[Floats], list[Floats]]:
    """Return what was tried in B states is worth, r + discount V(s'), and V(s') itself: [k] each.

    `values` are those of `ends`.
    """
    found = iter(values.tolist())
    after = [np.array([next(found) if ongoing else 0.0 for ongoing in state.ongoing]) for state in tried]
    worth = [np.array(state.rewards) + discount * rest for state, rest in zip(tried, after, strict=True)]
    return worth, after
