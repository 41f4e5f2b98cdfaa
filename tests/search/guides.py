"""Policies for the counting task, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from burnish.core.guide import Guide, GuideFor, Prediction, State, in_order
from burnish.core.session import Session
from burnish.core.trace import Trace
from tests.core.counting_task import ACTIONS, OPTIMUM, after

Counters = tuple[int, ...]


@dataclass(frozen=True)
class Perfect:
    """Knows a shortest way to the optimum, and is as sure of it as it is said to be."""

    sure: float = 0.97
    critic: bool = False
    actions: tuple[str, ...] = ACTIONS
    observations: tuple[str, ...] = ("values",)
    max_steps: int = 20
    sites: int = 0

    def predict(self, states: Sequence[State]) -> list[Prediction]:
        return [self.of(state) for state in states]

    def of(self, state: State) -> Prediction:
        (values,) = (np.asarray(observed) for observed in state.observed)
        left = tuple(int(value) for value in values if value)
        way = shortest(left)
        shares = np.where(state.legal[: len(ACTIONS)], (1 - self.sure) / len(ACTIONS), 0.0)
        if way:
            shares[ACTIONS.index(self.choice(way))] += self.sure
        with np.errstate(divide="ignore"):
            log_probs = np.log(shares)
        return Prediction(log_probs, float(np.log((1 + sum(left)) / OPTIMUM)) if self.critic else 0.0)

    def choice(self, way: Trace) -> str:
        return way[0]


class Misleading(Perfect):
    """Is sure of what leads away."""

    def choice(self, way: Trace) -> str:
        return "add(1)"


@cache
def shortest(counters: Counters) -> Trace:
    """Return a shortest trace that makes all counters, the largest first, zero, by breadth-first search."""
    ways: dict[Counters, Trace] = {counters: ()}
    queue = [counters]
    for state in queue:
        if not state:
            return ways[state]
        for number, action in enumerate(ACTIONS):
            following = tuple(sorted(filter(None, (after(value, number) for value in state)), reverse=True))
            if following not in ways:
                ways[following] = (*ways[state], action)
                queue.append(following)
    return ()


def by(policy: Perfect, *initial_traces: Trace) -> GuideFor:
    """Return guides with a policy, and with initial traces other than the task's."""

    def guide_for(session: Session) -> Guide:
        return Guide(initial_traces=in_order(initial_traces), policy=policy)

    return guide_for
