"""The tree of the states of one program that a person or a search has reached."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from burnish.core.errors import BurnishError, CompilerCrash, InputError
from burnish.core.listing import Listing, whole
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.evaluation.states import States
from burnish.explorer.changes import Changes, changes
from burnish.search import DEFAULT, Budget, Problem, Progress, search
from burnish.workers.worker import Worker

SEARCH_SECONDS = 30.0
SEARCH_EVALUATIONS = 200  # more states than a person looks at; most programs take fewer in the time


@dataclass(frozen=True)
class Node:
    """A state in the tree; states with equal digests are one node."""

    key: str  # the digest; a name of its own for a crash, and for a state that only a search has reached
    parent: str  # the key of the first known state before; "" for the program
    trace: Trace
    cost: float  # infinity after a crash
    error: str = ""
    searched: bool = False


class StateTree:
    """The states of a program, each reached by its trace; all methods may be called from several threads."""

    def __init__(self, problem: Problem) -> None:
        """Open the program in a worker process.

        Raises:
            ProgramError: the program cannot be read.
        """
        self.problem = problem
        self.nodes: dict[str, Node] = {}
        self.log: list[Node] = []  # in the order in which they were found; a page asks for those it lacks
        self._states = States(problem.task, problem.program, limits=problem.limits)
        self._lock = threading.RLock()
        self._search: threading.Thread | None = None
        self._ends = threading.Event()
        self.search_error = ""

    @property
    def listing(self) -> Listing | None:
        """The text in which people compare the task's states; None if it has no text."""
        task = self.problem.task
        texts = [name for name, item in task.observations.items() if item.kind == "text"]
        return task.shown.listing or (Listing(texts[0], whole) if texts else None)

    def visit(self, trace: Trace) -> Node:
        """Return the state after a trace; states on the way become nodes. A crash is a node, too.

        Raises:
            IllegalAction: an entry is illegal in its state.
            UnknownName: the task has no such action.
        """
        goal = self.problem.goal.name
        with self._lock:
            before = ""
            for length in range(len(trace) + 1):
                part = trace[:length]
                try:
                    key = self._states.digests(part)[-1]
                    cost = math.inf if key in self.nodes else self._states.session(part).measure(goal)
                except CompilerCrash as error:
                    return self._add(Node(f"{before}!{part[-1]}", before, part, math.inf, str(error)))
                node = self._add(Node(key, before, part, cost))
                before = key
            return node

    def actions(self, trace: Trace) -> list[tuple[str, str]]:
        """Return the legal entries after a trace, with their sites; the answers if the compiler asks."""
        with self._lock:
            session = self._states.session(trace)
            names = session.actions
            if question := session.question():
                return [(entry(names[i], question), question) for i in session.legal().nonzero()[0]]
            places = (WHOLE_PROGRAM, *session.sites())
            masks = session.mask(places).reshape(len(places), -1)
        return [
            (entry(names[i], site), site)
            for site, mask in zip(places, masks, strict=True)
            for i in mask.nonzero()[0]
        ]

    def changes(self, first: Trace, second: Trace, *, details: bool = False) -> Changes:
        """Compare the texts of the states after two traces."""
        listing = self.listing
        if listing is None:
            raise InputError(f"{self.problem.task.id} has no text observation to compare states by")
        with self._lock:
            texts = [
                str(self._states.session(trace).observe(listing.observation)) for trace in (first, second)
            ]
        return changes(texts[0], texts[1], listing, details=details)

    def site_costs(self, trace: Trace) -> Mapping[str, float]:
        """Return the sites' costs after a trace; {} if sites have no costs of their own."""
        goal = self.problem.goal
        if not goal.by_site:
            return {}
        with self._lock:
            return self._states.session(trace).site_costs(goal.name, priced=False)

    def baselines(self) -> dict[str, float]:
        """Measure the baselines of the task's tables, without those that this program does not have."""
        task = self.problem.task
        costs: dict[str, float] = {}
        worker = Worker(self.problem.limits)
        try:
            for name in task.shown.baselines or task.baselines:
                try:
                    costs[name] = self.problem.open_baseline(name, worker).measure(self.problem.goal.name)
                except BurnishError:
                    continue  # the page shows the others
        finally:
            worker.close()
        return costs

    @property
    def searching(self) -> bool:
        """True while a search runs."""
        return self._search is not None and self._search.is_alive()

    def start_search(self, seconds: float = SEARCH_SECONDS) -> None:
        """Search from the program, in processes and a thread of its own; each evaluated trace becomes a node.

        Raises:
            InputError: a search runs already.
        """
        with self._lock:
            if self.searching:
                raise InputError("a search runs already; stop it first")
            self._ends.clear()
            self.search_error = ""
            self._search = threading.Thread(target=self._run_search, args=(seconds,), daemon=True)
            self._search.start()

    def stop_search(self) -> None:
        """End the search after its current evaluation, and wait for the end."""
        self._ends.set()
        if self._search:
            self._search.join()

    def close(self) -> None:
        """End the search and all worker processes."""
        self.stop_search()
        with self._lock:
            self._states.close()

    def _run_search(self, seconds: float) -> None:
        def found(progress: Progress) -> None:
            latest = progress.latest
            with self._lock:
                before = self._known_before(latest.path)
                key = latest.digest or " → ".join(latest.path)
                error = latest.error
                self._add(Node(key, before, latest.path, latest.cost, error, searched=True))
            if self._ends.is_set():
                raise KeyboardInterrupt  # ends a search as Ctrl-C does

        budget = Budget(seconds=seconds, evaluations=SEARCH_EVALUATIONS, workers=1)
        try:
            search(self.problem, budget, method=DEFAULT, progress=found)
        except BurnishError as error:
            self.search_error = str(error)

    def _known_before(self, trace: Trace) -> str:
        """Return the key of the node with the longest trace that begins this one."""
        known = {node.trace: node.key for node in self.nodes.values()}
        lengths = range(len(trace) - 1, -1, -1)
        return next((known[trace[:length]] for length in lengths if trace[:length] in known), "")

    def _add(self, node: Node) -> Node:
        if node.key not in self.nodes:
            self.nodes[node.key] = node
            self.log.append(node)
        return self.nodes[node.key]


def as_json(node: Node) -> dict[str, Any]:
    """Return a node as the page reads it; no cost after a crash."""
    return {
        "key": node.key,
        "parent": node.parent,
        "trace": node.trace,
        "cost": node.cost if math.isfinite(node.cost) else None,
        "error": node.error,
        "searched": node.searched,
    }
