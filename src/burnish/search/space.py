"""The search space: what a search chooses from, the batches that it asks for, and their evaluations."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from burnish.core.guide import Prediction, Prior, State, StatePolicy
from burnish.core.trace import Trace, entry, open_entry, split_entry
from burnish.search.mutation import mutate

DRAWS = 2**31  # numbers of open entries
NOT_TRIED = "the budget was spent before"


@dataclass(frozen=True)
class Evaluation:
    """What evaluating a trace gave."""

    trace: Trace  # what was proposed, up to the cheapest state, less the entries that changed nothing
    cost: float  # infinity after a crash
    path: Trace = ()  # the same with every entry that was applied: what surely leads there
    error: str = ""
    digest: str = field(default="", compare=False)  # of the state, where it was asked for
    site_costs: dict[str, float] = field(default_factory=dict, repr=False)
    unpriced: dict[str, float] = field(default_factory=dict, repr=False)
    """The same without the price of what all sites share (burnish.core.session.Session.prices)."""
    room: float = field(default=math.inf, repr=False)  # how much more of that price there may be, in all
    prediction: Prediction | None = field(default=None, repr=False, compare=False)
    state: State | None = field(default=None, repr=False, compare=False)  # on the way to a prediction
    legal: tuple[str, ...] = field(default=(), repr=False, compare=False)  # entries at the end
    illegal: int = field(default=0, repr=False, compare=False)  # entries that were, and are left out

    @property
    def order(self) -> tuple[float, int, Trace]:
        """A total order: the cheaper, then the shorter, then the first by the alphabet."""
        return self.cost, len(self.trace), self.trace


@dataclass(frozen=True)
class Batch:
    """Traces to evaluate together: on all cores, every shared prefix once.

    What is asked for of the end of a trace comes with the cost of the end, not the lowest on the way.
    """

    traces: Sequence[Trace]
    site_costs: bool = False  # also say what each site costs at the end
    partial: bool = False  # while there is time: what there was none for has the error NOT_TRIED
    trial: bool = False  # likewise, and leave the time, or the evaluation, for what is joined of them
    legal: bool = False  # also say which entries are legal at the end,
    otherwise: bool = False  # of them only those that answer what is asked otherwise, if that is known
    digest: bool = False  # also say which state the end is
    predict: bool = False  # also say what the policy, if there is one, makes of the state at the end
    alone: int | None = None
    """All traces begin with the same so many entries, and the others of each are at one site: try them there,
    apart from the rest of the program. A cost is then by how much that changes the site's. They are tried
    while there is time; all sites once count as one evaluation."""


Proposals = Generator[Batch, list[Evaluation], None]
"""A search: it yields batches and is sent their evaluations, in the order of the traces. It may go on
for ever: who runs it keeps the best and stops it when the budget is spent."""


@dataclass(frozen=True)
class SearchSpace:
    """The actions, the initial traces with what they cost, and how long a trace may be."""

    actions: tuple[str, ...]  # the task's, unless nothing is legal in the opened program
    site_actions: tuple[str, ...]  # legal on a single site; none where sites have no costs
    sites: tuple[str, ...]
    initial: tuple[Evaluation, ...]  # the task's initial traces, the empty one among them
    max_length: int
    suffixes: tuple[Trace, ...] = ()  # learned: worth trying at every site, the best first
    prior: Prior | None = None  # learned: over `actions`; without it, all are alike
    policy: StatePolicy | None = None  # learned: what to do next, by the state
    by_state: bool = False  # not all actions are legal everywhere: see Evaluation.legal and open_entry
    asks: bool = False  # the compiler asks, and answers by itself what is left open
    independent_sites: bool = False  # what is applied at one site changes nothing at others
    prior_gains: Mapping[str, float] = field(default_factory=dict)  # of actions at sites of other programs
    large: bool = False  # the budget has few evaluations of the whole program: look at its sites one by one

    @property
    def best_initial(self) -> Evaluation:
        """The cheapest of the initial traces."""
        return min(self.initial, key=lambda item: item.order)

    def entries(self, state: Evaluation) -> tuple[str, ...]:
        """Return the entries that may follow a state; it has to be asked for what is legal there."""
        return state.legal if self.by_state else self.actions

    def extensions(self, state: Evaluation) -> list[Trace]:
        """Return a state's trace with each entry that may follow."""
        return [(*state.trace, text) for text in self.entries(state)]

    def probabilities(self, state: Evaluation, uniform: float = 0.0) -> NDArray[np.float64]:
        """Return how probable each of the state's `entries` is to be worth it: float64[n], their sum is 1.

        By the policy where its prediction was asked for, in which what is illegal has 0; else by the prior,
        where an action at several sites shares what it has; else all alike. Of that, `uniform` is the share
        that is shared out evenly.
        """
        shares = legal = np.ones(len(self.entries(state)))
        if self.prior:
            shares = self.prior.after(split_entry(state.trace[-1])[1] if state.trace else "")
        if self.by_state and self.prior:
            at = np.array([self._index[split_entry(text)[1]] for text in state.legal], dtype=np.int64)
            shares = (shares / np.bincount(at, minlength=len(shares)).clip(1))[at]
        if state.prediction is not None and self.by_state:
            log_probs = self._at_places(state.legal, state.prediction)
            shares = np.exp(log_probs) if np.isfinite(log_probs).any() else legal
        elif state.prediction is not None:
            log_probs = np.append(state.prediction.log_probs, -np.inf)[self._columns]
            legal = ((log_probs > -np.inf) | (self._columns < 0)).astype(np.float64)
            shares = np.exp(log_probs) if np.isfinite(log_probs).any() else legal
        even = legal / max(1.0, legal.sum())
        shares = shares / max(shares.sum(), np.finfo(np.float64).tiny)
        mixed: NDArray[np.float64] = (1 - uniform) * shares + uniform * even
        return mixed

    def _at_places(self, entries: Sequence[str], prediction: Prediction) -> NDArray[np.float64]:
        """Return the log-probabilities of entries; -inf of what has no place, or is unknown to the policy."""
        known: dict[str, float] = {}
        texts = [entry(action, site) for site in prediction.sites for action in self._predicted]
        for text, log_prob in zip(texts, prediction.log_probs, strict=False):  # there may be places left over
            known[text] = float(np.logaddexp(known.get(text, -np.inf), log_prob))
        return np.array([known.get(text, -np.inf) for text in entries])

    @property
    def _predicted(self) -> tuple[str, ...]:
        return self.policy.actions if self.policy else ()

    @cached_property
    def _index(self) -> dict[str, int]:
        return {action: i for i, action in enumerate(self.actions)}

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        """Where `actions` are among the policy's; -1 for those that it does not know."""
        index = {action: i for i, action in enumerate(self._predicted)}
        return np.array([index.get(action, -1) for action in self.actions])

    def random_action(self, rng: np.random.Generator, before: Sequence[str] = ()) -> str:
        """Draw what follows the entries before it: an action, or one that is left open until it is there."""
        action = self.prior.draw(split_entry(before[-1])[1] if before else "", rng) if self.prior else ""
        if self.by_state:
            return open_entry(int(rng.integers(DRAWS)), action)
        if action:
            return action
        return self.actions[rng.integers(len(self.actions))]

    def random_trace(self, rng: np.random.Generator, longest: int | None = None) -> Trace:
        """Draw a length, uniformly from 1, and as many actions."""
        length = int(rng.integers(1, (longest or self.max_length) + 1))
        if self.prior or self.by_state:
            trace: list[str] = []
            for _ in range(length):
                trace.append(self.random_action(rng, trace))
            return tuple(trace)
        return tuple(self.actions[i] for i in rng.integers(len(self.actions), size=length))

    def mutate(self, trace: Trace, rng: np.random.Generator) -> Trace:
        """Insert, remove, replace or move one to three entries."""
        return mutate(trace, lambda before: self.random_action(rng, before), rng, longest=self.max_length)
