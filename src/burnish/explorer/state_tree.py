"""The tree that the page shows: states in the order in which a person or a search has reached them."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from burnish.core.errors import CompilerCrash, IllegalAction, InputError
from burnish.core.reduce import Reduced
from burnish.core.trace import WHOLE_PROGRAM, Trace
from burnish.explorer.comparisons import Comparisons
from burnish.explorer.exploration import Edge, Exploration, LegalAction, State
from burnish.explorer.exports import ELSEWHERE, OpenedFile, file_of, texts_of
from burnish.explorer.features import FeatureChange, changed, counted
from burnish.explorer.predictions import Predictions, Predictor
from burnish.explorer.stoppable import Stoppable
from burnish.policies import find
from burnish.search import Budget, Progress

# seconds; evaluations: more states than a person looks at, and most programs take fewer in the time
BUDGET = Budget(seconds=30.0, evaluations=200, workers=1)
MOST_NODES = 5000  # in the tree: the page draws as many in a frame, and they take 10 MB
EVERYWHERE = "*"  # a site for all: no compiler gives a function this name
MOST_LISTED = 20_000  # actions everywhere: a module of a thousand functions has 200,000, and a page shows 400
MOST_TRIED = 200  # actions at once: most tasks have fewer at one site
MINIMIZE_SECONDS = 20.0
CLOSE_SECONDS = 5.0  # for the work in threads; processes of later work end with this one


@dataclass(frozen=True)
class Node:
    """A state in the tree; states with equal digests are one node."""

    key: str  # the digest; a name of its own for a crash, and for a state that only a search has reached
    parent: str  # the key of the first known state before; "" for the program
    trace: Trace
    cost: float  # infinity after a crash
    error: str = ""
    searched: bool = False


@dataclass(frozen=True)
class ActionList:
    """Legal actions at one site, or everywhere."""

    site: str  # EVERYWHERE: at all sites
    sites: tuple[str, ...]  # of the state
    actions: tuple[LegalAction, ...]
    left_out: int = 0  # sites whose actions are not listed


class StateTree:
    """The states of an exploration by one objective; all methods may be called from several threads."""

    def __init__(
        self,
        exploration: Exploration,
        objective: str | None = None,
        *,
        policy: str = find.DEFAULT,
        opened: OpenedFile = ELSEWHERE,
    ) -> None:
        """Take the program as the first node; `close` ends the exploration, too.

        Raises:
            UnknownName: the objective or the policy is unknown.
            InputError: the policy's file is not a policy, or is for another task.
        """
        self.exploration, self.opened = exploration, opened
        task = exploration.task
        self.goal = task.objective(objective)
        self.predictor = Predictor(task, exploration.program, policy, self.goal.name, exploration.limits)
        self.nodes: dict[str, Node] = {}
        self.log: list[Node] = []  # in the order in which they were found; a page asks for those it lacks
        self.left_out = 0  # states of searches that were found after MOST_NODES
        self.evaluated: list[float] = []  # costs in the order of the last search; infinity after a crash
        self.search = Stoppable("a search")
        self.trials = Stoppable("a trial of all actions")
        self._by_trace: dict[Trace, str] = {}  # keys
        self._lock = threading.Lock()
        self._minimizing = threading.Lock()
        self._closed = threading.Event()
        self.comparisons = Comparisons(exploration, self.goal)
        self.visit(())

    def close(self) -> None:
        """End the search, the trials, and the compilers' processes."""
        self._closed.set()
        self.trials.stop(CLOSE_SECONDS)
        self.search.stop(CLOSE_SECONDS)
        self.predictor.close()
        self.comparisons.close()
        self.exploration.close()

    def visit(self, trace: Trace) -> Node:
        """Return the state after a trace; states on the way become nodes. A crash is a node, too.

        Raises:
            IllegalAction: an entry is illegal in its state.
            UnknownName: the task has no such action.
        """
        state = self.exploration.root
        node = self._measured(state, "", ())
        for length, text in enumerate(trace, 1):
            before, edge = state, self.exploration.apply(state, text)
            if edge.target is None:
                return self._crashed(before, trace[:length], edge.error)
            state = self.exploration.states[edge.target]
            try:
                node = self._measured(state, before.digest, trace[:length])
            except CompilerCrash as error:
                return self._crashed(before, trace[:length], str(error))
        return node

    def actions(self, trace: Trace, site: str = WHOLE_PROGRAM) -> ActionList:
        """Return the legal actions at a site after a trace, or at all sites (EVERYWHERE).

        If the state has no such site, its actions are those on the whole program, or everywhere.
        """
        state = self.exploration.state(trace)
        sites = self.exploration.sites(state)
        if site not in sites:
            site = WHOLE_PROGRAM if site != EVERYWHERE and WHOLE_PROGRAM in sites else EVERYWHERE
        if site != EVERYWHERE:
            return ActionList(site, sites, self.exploration.legal(state, site))
        listed = sites[: 1 + MOST_LISTED // len(self.exploration.task.actions)]
        return ActionList(site, sites, self.exploration.legal(state, *listed), len(sites) - len(listed))

    def predictions(self, trace: Trace, site: str = WHOLE_PROGRAM) -> Predictions:
        """Return the policy's predictions for `actions`; empty without a policy."""
        entries = [one.entry for one in self.actions(trace, site).actions] if self.predictor.name else []
        return self.predictor(trace, entries)

    def edges(self) -> Sequence[Edge]:
        """Return the applied actions in the order of their first application."""
        return tuple(self.exploration.edges.values())

    def features(self, first: Trace, second: Trace, name: str = "") -> list[FeatureChange]:
        """Compare an observation of the states after two traces, by default the first of `counted`.

        The changes have the values along the second trace, too.

        Raises:
            InputError: the task has no such array of named numbers.
        """
        known, names = self.exploration, counted(self.exploration.task)
        if not names or name not in ("", *names):
            raise InputError(
                f"{name!r}: expected an array of named numbers: {' '.join(names) or 'none here'}"
            )
        observation = known.task.observation(name or names[0])
        before, after = (known.observe(known.state(trace), observation.name) for trace in (first, second))
        along = known.observe_along(second, observation.name) if second else []
        return changed(observation, before, after, along)

    def texts(self, trace: Trace) -> dict[str, str]:
        """Return the texts of the state after a trace: see texts_of."""
        return texts_of(self.exploration, trace, self.goal.name, self.opened)

    def file(self, trace: Trace, suffix: str) -> bytes:
        """Return the state after a trace as a file: see file_of."""
        known = self.exploration
        state = replace(known.state(trace), trace=trace)  # which may not be the first trace to the state
        return file_of(known, state, suffix, self.goal.name, self.opened)

    def baselines(self) -> dict[str, float]:
        """Measure the baselines of the task's tables, without those that this program does not have."""
        task = self.exploration.task
        return self.exploration.baselines(self.goal.name, task.shown.baselines or task.baselines)

    def start_search(self, trace: Trace = (), budget: Budget = BUDGET) -> None:
        """Search in processes and a thread from the state after a trace; evaluated traces become nodes.

        Raises:
            InputError: a search runs already.
            CompilerCrash: the compiler fails at an entry of the trace.
        """
        state = self.exploration.state(trace)
        self.search.start(lambda ends: self._search_from(state, budget, ends))

    def _search_from(self, state: State, budget: Budget, ends: threading.Event) -> None:
        self.evaluated = evaluated = list[float]()

        def found(progress: Progress) -> None:
            latest = progress.latest
            trace = (*state.trace, *latest.path)
            key, before = latest.digest or " → ".join(trace), self._known_before(trace)
            evaluated.append(latest.cost)
            self._add(Node(key, before, trace, latest.cost, latest.error, searched=True))
            if ends.is_set():
                raise KeyboardInterrupt  # ends a search as Ctrl-C does

        # Evaluated traces are nodes already, so none is replayed at the end.
        self.exploration.search(state, budget, objective=self.goal.name, grown=0, progress=found)

    def start_trials(self, trace: Trace, entries: Sequence[str]) -> None:
        """Apply each entry in the state after a trace, in a thread; each becomes a node, or an idle edge.

        Raises:
            InputError: there are too many entries or nodes, or other trials run.
            CompilerCrash: the compiler fails at an entry of the trace.
        """
        if len(entries) > MOST_TRIED:
            raise InputError(f"{len(entries)} actions are shown; filter them to {MOST_TRIED} at most")
        if len(self.nodes) >= MOST_NODES:
            raise InputError(f"the tree has {MOST_NODES} states, its limit; start burnish explore again")
        self.exploration.state(trace)
        self.trials.start(lambda ends: self._try_all(trace, entries, ends))

    def _try_all(self, trace: Trace, entries: Sequence[str], ends: threading.Event) -> None:
        for text in entries:
            if ends.is_set():
                return
            with suppress(IllegalAction):  # the page may show the actions of an earlier state
                self.visit((*trace, text))

    def minimize(self, trace: Trace) -> Reduced:
        """Leave out the entries of a trace that do not lower its cost; see Exploration.minimize.

        Raises:
            InputError: the objective is noisy, or another trace is being minimised.
            CompilerCrash, IllegalAction, UnknownName: the trace cannot be applied.
        """
        if not self._minimizing.acquire(blocking=False):
            raise InputError("another trace is being minimised; try again when its page shows the result")
        try:
            return self.exploration.minimize(
                trace, self.goal.name, seconds=MINIMIZE_SECONDS, stopped=self._closed.is_set
            )
        finally:
            self._minimizing.release()

    def _known_before(self, trace: Trace) -> str:
        """Return the key of the node with the longest trace that begins this one."""
        lengths = range(len(trace) - 1, -1, -1)
        known = (self._by_trace.get(trace[:length]) for length in lengths)
        return next((key for key in known if key is not None), "")

    def _measured(self, state: State, before: str, trace: Trace) -> Node:
        """Return the node of a state, whose cost is measured if it is new."""
        if known := self.nodes.get(state.digest):
            return known
        return self._add(Node(state.digest, before, trace, self.exploration.cost(state, self.goal.name)))

    def _crashed(self, before: State, trace: Trace, error: str) -> Node:
        return self._add(Node(_crash_key(before.digest, trace[-1]), before.digest, trace, math.inf, error))

    def _add(self, node: Node) -> Node:
        with self._lock:
            if known := self.nodes.get(node.key):
                return known
            if node.searched and len(self.nodes) >= MOST_NODES:
                self.left_out += 1
                return node
            self.nodes[node.key] = node
            self._by_trace.setdefault(node.trace, node.key)
            self.log.append(node)
            return node


def edge_as_json(edge: Edge) -> dict[str, Any]:
    """Return an edge as the page reads it, between the keys of nodes."""
    target = edge.target or _crash_key(edge.source, edge.entry)
    return {"from": edge.source, "to": target, "entry": edge.entry, "seconds": edge.seconds}


def finite(cost: float) -> float | None:
    """Return a cost as the page reads it: None after a crash."""
    return cost if math.isfinite(cost) else None


def _crash_key(before: str, text: str) -> str:
    return f"{before}!{text}"


def as_json(node: Node) -> dict[str, Any]:
    """Return a node as the page reads it."""
    return {
        "key": node.key,
        "parent": node.parent,
        "trace": node.trace,
        "cost": finite(node.cost),
        "error": node.error,
        "searched": node.searched,
    }
