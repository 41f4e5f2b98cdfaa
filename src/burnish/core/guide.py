"""Guides of searches: initial traces, suffixes, priors and policies, for one program."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from burnish.core.session import Session
from burnish.core.trace import WHOLE_PROGRAM, Trace
from burnish.core.view import Mask, Observed


@dataclass(frozen=True)
class Prior:
    """How probable each action is to be worth it, after the one before.

    Attributes:
        actions: The n actions.
        probabilities: float64[1 + n, n]: row 0 at the beginning, row 1 + i after action i.
            Each row sums to 1.
    """

    actions: tuple[str, ...]
    probabilities: NDArray[np.float64]

    def among(self, actions: Sequence[str]) -> Prior:
        """Return the same for some actions; those that it does not know get the mean of the others."""
        index = self._index
        columns = [index.get(action, -1) for action in actions]
        rows = np.vstack([self.probabilities[0], *(self.probabilities[1 + at] for at in columns)])
        mean = rows.mean(axis=1, keepdims=True)
        chosen = np.where(np.array(columns) < 0, mean, rows[:, columns])
        return Prior(tuple(actions), chosen / chosen.sum(axis=1, keepdims=True))

    def after(self, action: str) -> NDArray[np.float64]:
        """Return the probabilities of what follows an action, "" for the first of a trace: float64[n]."""
        row: NDArray[np.float64] = self.probabilities[1 + self._index.get(action, -1)]
        return row

    def draw(self, after: str, rng: np.random.Generator) -> str:
        """Draw the action that follows another; "" for the first of a trace."""
        row = self._cumulative[1 + self._index.get(after, -1)]
        return self.actions[min(int(np.searchsorted(row, rng.random(), side="right")), len(self.actions) - 1)]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {action: i for i, action in enumerate(self.actions)}

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        return np.cumsum(self.probabilities, axis=1)


class State(NamedTuple):
    """What a policy sees of a state."""

    observed: tuple[Observed, ...]  # one of each of its observations
    legal: Mask  # bool[len(sites) * n], of the task's actions
    sites: tuple[str, ...] = (WHOLE_PROGRAM,)
    """Where to act: on the whole program, or at what the compiler asks about; then sites in their places."""


class Prediction(NamedTuple):
    """What a policy makes of a state: the (p, v) of Silver et al. 2018."""

    log_probs: NDArray[np.float64]
    """[(1 + sites) * n], of the policy's n actions to be next, at each place; -inf where one is illegal."""
    value: float = 0.0  # log(cost now / the cost that is expected in the end); 0 from one without a critic
    sites: tuple[str, ...] = (WHOLE_PROGRAM,)  # those of the state, in their places


class StatePolicy(Protocol):
    """What to do next, by what is seen of a state."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The n actions that it chooses from."""

    @property
    def observations(self) -> tuple[str, ...]:
        """The task's observations that it looks at."""

    @property
    def sites(self) -> int:
        """At how many of a program's sites it acts, beside the whole program."""

    @property
    def max_steps(self) -> int | None:
        """After how many actions its episodes end; None: when nothing is legal any more."""

    def predict(self, states: Sequence[State]) -> list[Prediction]:
        """Say what to do next in each of some states."""


InitialTraces = Generator[Trace, float | None, None]
"""Yields traces, the most promising first, and is sent what each one costs, infinity
where it failed: the next one may depend on it. The session must be open until the last one."""


def in_order(traces: Iterable[Trace] = ()) -> InitialTraces:
    """Return traces whose order does not depend on what they cost."""
    for trace in traces:  # noqa: UP028 - `yield from` would hand on what is sent
        yield trace


@dataclass(frozen=True)
class Guide:
    """Where to look first."""

    initial_traces: InitialTraces = field(default_factory=in_order)
    suffixes: tuple[Trace, ...] = ()
    """Short traces to try at every site, the most promising first."""
    prior: Prior | None = None
    policy: StatePolicy | None = None
    searches: bool = False
    """Whether the initial traces are a search of their own, which goes on as long as it is asked."""


GuideFor = Callable[[Session], Guide]
"""A policy, as a search calls it: it looks at the opened program and returns the guide for it."""
