"""The search space, the batches that a search proposes, and their evaluations."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from burnish.core.guide import Prediction, Prior, State, StatePolicy
from burnish.core.trace import Trace, entry, open_entry, split_entry
from burnish.search.mutation import mutate

DRAWS = 2**31  # the number in an open entry is below this
NOT_TRIED = "the budget was spent before this evaluation"


@dataclass(frozen=True)
class Evaluation:
    """The result of evaluating a trace."""

    trace: Trace  # the proposed one up to the cheapest state, without entries that changed nothing
    cost: float  # infinity after a crash
    path: Trace = ()  # the same with every applied entry: its replay surely gives the same state
    error: str = ""
    digest: str = field(default="", compare=False)  # of the state, if asked for
    site_costs: dict[str, float] = field(default_factory=dict, repr=False)
    unpriced: dict[str, float] = field(default_factory=dict, repr=False)
    """The same without the prices of shares under program-wide limits (see `prices` in core/session.py)."""
    room: float = field(default=math.inf, repr=False)  # the slack under these limits: Session.room
    prediction: Prediction | None = field(default=None, repr=False, compare=False)
    state: State | None = field(default=None, repr=False, compare=False)  # until the prediction replaces it
    legal: tuple[str, ...] = field(default=(), repr=False, compare=False)  # entries at the end
    illegal: int = field(default=0, repr=False, compare=False)  # number of illegal entries, left out

    @property
    def order(self) -> tuple[float, int, Trace]:
        """The sort key: by cost, then by the length of the trace, then by its text."""
        return self.cost, len(self.trace), self.trace


class Ask(Flag):
    """Parts of an evaluation beside the cost; with any but LEGAL, the cost is that at the trace's end."""

    COST = 0  # nothing more than the cost of the cheapest state on the way
    LEGAL = auto()  # the entries that are legal at the end
    OTHERWISE = auto()  # of these, only the entries that change the compiler's own answers, if known
    SITE_COSTS = auto()  # the costs of the sites at the end
    DIGEST = auto()  # the digest of the state at the end
    PREDICTION = auto()  # the policy's prediction for the state at the end, if there is a policy

    @property
    def at_end(self) -> bool:
        """True if the last state counts, not the cheapest one on the way."""
        return bool(self & ~Ask.LEGAL)


@dataclass(frozen=True)
class Batch:
    """Traces to evaluate together: on all cores, each shared prefix once."""

    traces: Sequence[Trace]
    ask: Ask = Ask.COST
    partial: bool = False  # evaluate while there is time; the error of the others is NOT_TRIED
    trial: bool = False  # leave the time, or the evaluation, for the trace that joins the best entries


class Trial(NamedTuple):
    """Actions to try at a site."""

    site: str
    suffix: Trace


@dataclass(frozen=True)
class SiteTrials:
    """Suffixes to try after a trace, each at one site that is isolated from the rest of the program.

    The trace of an evaluation is the suffix without the actions that changed nothing; its cost is the change
    of the site's cost. Trials are made while there is time. One trial at every site counts as one evaluation.
    """

    base: Trace
    trials: Sequence[Trial]


Proposals = Generator[Batch, list[Evaluation], None]
"""A search. It yields batches and is sent their evaluations, in the order of the traces. It may be infinite:
the caller keeps the best and stops the search when the budget is spent."""
SiteProposals = Generator[Batch | SiteTrials, list[Evaluation], None]
"""A search that also tries suffixes at isolated sites."""


@dataclass(frozen=True)
class SearchSpace:
    """The actions, the evaluated initial traces, the longest trace, and learned knowledge."""

    actions: tuple[str, ...]  # the task's; () if nothing is legal in the opened program
    site_actions: tuple[str, ...]  # legal at a single site; () if sites have no costs of their own
    sites: tuple[str, ...]
    initial: tuple[Evaluation, ...]  # the task's and the guide's traces, and (unless large) the empty one
    max_length: int
    suffixes: tuple[Trace, ...] = ()  # learned: worth trying at every site, the best first
    prior: Prior | None = None  # learned probabilities of `actions`; None: all are equal
    policy: StatePolicy | None = None  # learned: the next action, by the state
    by_state: bool = False  # not all actions are legal everywhere: see Evaluation.legal and open_entry
    asks: bool = False  # the compiler asks, and answers open questions itself
    independent_sites: bool = False  # an action at one site changes nothing at the others
    prior_gains: Mapping[str, float] = field(default_factory=dict)  # of actions at sites of other programs
    large: bool = False  # the budget allows few evaluations of the program: search at isolated sites

    @property
    def legal(self) -> Ask:
        """The part of an evaluation that `entries` and `extensions` read."""
        return Ask.LEGAL if self.by_state else Ask.COST

    @property
    def best_initial(self) -> Evaluation:
        """The cheapest of the initial traces."""
        return min(self.initial, key=lambda item: item.order)

    def entries(self, state: Evaluation) -> tuple[str, ...]:
        """Return the entries that may follow a state, which was evaluated with `legal`."""
        return state.legal if self.by_state else self.actions

    def extensions(self, state: Evaluation) -> list[Trace]:
        """Return a state's trace, extended by each entry that may follow."""
        return [(*state.trace, text) for text in self.entries(state)]

    def probabilities(self, state: Evaluation, uniform: float = 0.0) -> NDArray[np.float64]:
        """Return the probability of each of the state's `entries`: float64[n], the sum is 1.

        It comes from the policy if its prediction was asked for; illegal entries have 0. Otherwise it comes
        from the prior, and an action at several sites divides its probability among them. Without a prior,
        all entries are equal. The share `uniform` of the total is spread evenly over the legal entries.
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
        """Return the log-probabilities of entries; -inf for sites without a slot and for unknown actions."""
        known: dict[str, float] = {}
        texts = [entry(action, site) for site in prediction.sites for action in self._predicted]
        for text, log_prob in zip(texts, prediction.log_probs, strict=False):  # slots may be unused
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
        """The indices of `actions` in the policy's list; -1 for actions that the policy lacks."""
        index = {action: i for i, action in enumerate(self._predicted)}
        return np.array([index.get(action, -1) for action in self.actions])

    def random_action(self, rng: np.random.Generator, before: Sequence[str] = ()) -> str:
        """Draw the next entry after some others: an action, or an open entry that the state decides later."""
        action = self.prior.draw(split_entry(before[-1])[1] if before else "", rng) if self.prior else ""
        if self.by_state:
            return open_entry(int(rng.integers(DRAWS)), action)
        if action:
            return action
        return self.actions[rng.integers(len(self.actions))]

    def random_trace(self, rng: np.random.Generator, longest: int | None = None) -> Trace:
        """Draw a length, uniformly from 1 to `longest`, and as many entries."""
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
