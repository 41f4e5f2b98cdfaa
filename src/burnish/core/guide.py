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
    """The probability that each action pays off, given the action before it."""

    actions: tuple[str, ...]  # n
    probabilities: NDArray[np.float64]
    """[1 + n, n]: row 0 at the beginning, row 1 + i after action i; each row sums to 1."""

    def among(self, actions: Sequence[str]) -> Prior:
        """Return the prior of some actions; an unknown action gets the mean probability of all known ones."""
        index = self._index
        columns = [index.get(action, -1) for action in actions]
        rows = np.vstack([self.probabilities[0], *(self.probabilities[1 + at] for at in columns)])
        mean = rows.mean(axis=1, keepdims=True)
        chosen = np.where(np.array(columns) < 0, mean, rows[:, columns])
        return Prior(tuple(actions), chosen / chosen.sum(axis=1, keepdims=True))

    def after(self, action: str) -> NDArray[np.float64]:
        """Return the probabilities of the next action, float64[n]; `action` is "" at a trace's beginning."""
        row: NDArray[np.float64] = self.probabilities[1 + self._index.get(action, -1)]
        return row

    def draw(self, after: str, rng: np.random.Generator) -> str:
        """Draw the action that follows `after`, which is "" at a trace's beginning."""
        row = self._cumulative[1 + self._index.get(after, -1)]
        return self.actions[min(int(np.searchsorted(row, rng.random(), side="right")), len(self.actions) - 1)]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {action: i for i, action in enumerate(self.actions)}

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        return np.cumsum(self.probabilities, axis=1)


class State(NamedTuple):
    """A policy's input: the observed part of a state."""

    observed: tuple[Observed, ...]  # one value for each of the policy's observations
    legal: Mask  # bool[len(sites) * n], of the task's actions
    sites: tuple[str, ...] = (WHOLE_PROGRAM,)
    """The places to act: first the whole program, or the site that the compiler asks about; then sites."""


class Prediction(NamedTuple):
    """A policy's output for a state: the (p, v) of Silver et al. 2018."""

    log_probs: NDArray[np.float64]
    """[(1 + sites) * n]: log probability of each of the policy's n actions at each place; -inf if illegal."""
    value: float = 0.0  # log(current cost / expected final cost); 0 for a policy without a critic
    sites: tuple[str, ...] = (WHOLE_PROGRAM,)  # the state's sites, in the same order


class StatePolicy(Protocol):
    """A policy that chooses the next action from the observed state."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The n actions that the policy chooses from."""

    @property
    def observations(self) -> tuple[str, ...]:
        """The task's observations that the policy reads."""

    @property
    def sites(self) -> int:
        """The number of a program's sites at which the policy acts, beside the whole program."""

    @property
    def max_steps(self) -> int | None:
        """The number of actions in an episode; with None, an episode ends when no action is legal."""

    def predict(self, states: Sequence[State]) -> list[Prediction]:
        """Predict the next action and the value of each state."""


InitialTraces = Generator[Trace, float | None, None]
"""Yields traces, the most promising first. The search sends back each trace's cost, infinity if it failed,
because the next trace may depend on that. The session must stay open until the last trace."""


def in_order(traces: Iterable[Trace] = ()) -> InitialTraces:
    """Yield traces in their order, whatever they cost."""
    for trace in traces:  # noqa: UP028 - `yield from` would hand on what is sent
        yield trace


@dataclass(frozen=True)
class Guide:
    """Starting points and preferences of a search."""

    initial_traces: InitialTraces = field(default_factory=in_order)
    suffixes: tuple[Trace, ...] = ()
    """Short traces to try at every site, the most promising first."""
    prior: Prior | None = None
    policy: StatePolicy | None = None
    predicted_cost: Callable[[Session], float] | None = None
    """Predicts the cost of a state of the program without measuring, from its session in this process."""
    choice: Trace | None = None
    """The trace to take without a measurement; None if the policy expects no gain, or says nothing."""
    searches: bool = False
    """True if the initial traces are a search of their own, which may use the whole budget."""


GuideFor = Callable[[Session], Guide]
"""A policy, as a search calls it: returns the guide for the opened program."""
