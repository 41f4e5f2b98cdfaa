"""The tree that the page shows: states in the order in which a person or a search has reached them."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from burnish.core.diagram import Drawing
from burnish.core.errors import BurnishError, CompilerCrash, InputError
from burnish.core.listing import Listing
from burnish.core.objective import Objective
from burnish.core.trace import Trace
from burnish.explorer.changes import Changes, changes
from burnish.explorer.exploration import Exploration, LegalAction, State
from burnish.explorer.pictures import Picture, cut, laid_out, merged, without
from burnish.search import Budget, Progress
from burnish.workers.worker import Limits, Worker

# seconds; evaluations: more states than a person looks at, and most programs take fewer in the time
BUDGET = Budget(seconds=30.0, evaluations=200, workers=1)
LAYOUT_SECONDS = 20.0  # for a picture; the largest ones take 2


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
    """The states of an exploration by one objective; all methods may be called from several threads."""

    def __init__(self, exploration: Exploration, objective: str | None = None) -> None:
        """Take the program as the first node; `close` ends the exploration, too."""
        self.exploration = exploration
        self.goal = exploration.task.objective(objective)
        self.nodes: dict[str, Node] = {}
        self.log: list[Node] = []  # in the order in which they were found; a page asks for those it lacks
        self._lock = threading.Lock()
        self._search: threading.Thread | None = None
        self._ends = threading.Event()
        self._layouts = Worker(Limits(deadline_seconds=LAYOUT_SECONDS))
        self._drawing = threading.Lock()  # a worker answers one thread at a time
        self.search_error = ""
        self.visit(())

    @property
    def objective_in_bytes(self) -> Objective | None:
        """The objective that divides a program's bytes among its functions; None without one."""
        known = [self.goal, *self.exploration.task.objectives.values()]
        return next((one for one in known if one.unit == "bytes" and one.by_site and not one.noisy), None)

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

    def actions(self, trace: Trace) -> tuple[LegalAction, ...]:
        """Return the legal actions at all sites after a trace."""
        return self.exploration.legal(self.exploration.state(trace))

    def changes(
        self, first: Trace, second: Trace, text: str = "", *, details: bool = False, library: bool = True
    ) -> Changes:
        """Compare the states after two traces by a text, by default the usual one.

        Raises:
            InputError: the task has no such listing.
        """
        listing = self._listing(text)
        for trace in (first, second):
            self.exploration.state(trace)
        texts = []
        for trace in (first, second):
            texts.append(self._text(trace, listing.observation))
            self.site_costs(trace)  # while the session is open: to open it again, the trace is replayed
        return changes(texts[0], texts[1], listing, details=details, library=library)

    def picture(
        self, first: Trace, second: Trace, name: str, section: str = "", *, library: bool = True
    ) -> Picture:
        """Compare the states after two traces by a kind of diagram, of a section or of the whole program.

        Raises:
            InputError: the task draws no such diagram, or neither state has the section.
            CompilerCrash: graphviz fails.
        """
        drawing = self.drawing(name)
        listing = next(
            (one for one in self.exploration.listings if one.observation == drawing.observation), None
        )
        texts = [self._text(trace, drawing.observation) for trace in (first, second)]
        both = [drawing.diagram(text, section) for text in texts]
        if not library and not drawing.by_section:
            hidden = self.library(first, second)
            both = [without(diagram, hidden) for diagram in both]
        if not any(diagram.blocks for diagram in both):
            raise InputError(f"neither state has {section or 'anything'!r} to draw as {name!r}")
        drawn = cut(merged(both[0], both[1], drawing, listing.renumbered if listing else None))
        try:
            with self._drawing:
                laid: Picture = self._layouts.call(laid_out, drawn)
        except CompilerCrash as error:
            size = f"{len(drawn.boxes)} boxes and {len(drawn.curves)} arrows"
            raise CompilerCrash(f"graphviz failed to draw {size}: {error}; choose another graph") from None
        return laid

    def drawing(self, name: str) -> Drawing:
        """Return a kind of diagram of the task by its name, or raise InputError."""
        drawings = self.exploration.task.shown.drawings
        if name not in drawings:
            known = ", ".join(drawings) or "no diagrams"
            raise InputError(f"{self.exploration.task.id} draws no {name!r}; it draws {known}")
        return drawings[name]

    def sections(
        self, first: Trace, second: Trace, text: str, *, library: bool = True
    ) -> list[dict[str, str]]:
        """Return the name, title and kind of change of the functions of two states, changed ones first."""
        kinds = {one.name: one.kind for one in self.changes(first, second, text, library=library).sections}
        listing, titles = self._listing(text), dict[str, str]()
        for trace in (second, first):
            for one in listing.sections(self._text(trace, text), False):
                if one.name and (library or not one.library):
                    titles.setdefault(one.name, one.title)
        order = sorted(titles, key=lambda name: name not in kinds)
        return [{"name": name, "title": titles[name], "kind": kinds.get(name, "same")} for name in order]

    def library(self, first: Trace, second: Trace) -> set[str]:
        """Return the names of the library's functions in two states."""
        found = set[str]()
        for listing in self.exploration.listings[:1]:
            for trace in (first, second):
                sections = listing.sections(self._text(trace, listing.observation), False)
                found |= {one.name for one in sections if one.library}
        return found

    def site_costs(self, trace: Trace, objective: str | None = None) -> Mapping[str, float]:
        """Return the sites' costs after a trace; {} if sites have no costs of their own."""
        return self.exploration.site_costs(self.exploration.state(trace), objective or self.goal.name)

    def title(self, site: str) -> str:
        """Return a site's name as people read it."""
        return self.exploration.listings[0].title(site) if self.exploration.listings else site

    def _listing(self, text: str) -> Listing:
        known = {one.observation: one for one in self.exploration.listings}
        if not known:
            raise InputError(f"{self.exploration.task.id} has no text observation to compare states by")
        if text and text not in known:
            raise InputError(f"states are not compared by {text!r}; expected {' or '.join(known)}")
        return known[text] if text else self.exploration.listings[0]

    def _text(self, trace: Trace, observation: str) -> str:
        return str(self.exploration.observe(self.exploration.state(trace), observation))

    def baselines(self) -> dict[str, float]:
        """Measure the baselines of the task's tables, without those that this program does not have."""
        task = self.exploration.task
        return self.exploration.baselines(self.goal.name, task.shown.baselines or task.baselines)

    @property
    def searching(self) -> bool:
        """True while a search runs."""
        return self._search is not None and self._search.is_alive()

    def start_search(self, trace: Trace = (), budget: Budget = BUDGET) -> None:
        """Search in processes and a thread from the state after a trace; evaluated traces become nodes.

        Raises:
            InputError: a search runs already.
            CompilerCrash: the compiler fails at an entry of the trace.
        """
        state = self.exploration.state(trace)
        with self._lock:
            if self.searching:
                raise InputError("a search runs already; stop it first")
            self._ends.clear()
            self.search_error = ""
            self._search = threading.Thread(target=self._run_search, args=(state, budget), daemon=True)
            self._search.start()

    def stop_search(self) -> None:
        """End the search after its current evaluation, and wait for the end."""
        self._ends.set()
        if self._search:
            self._search.join()

    def close(self) -> None:
        """End the search, the process that draws, and the exploration."""
        self.stop_search()
        self._layouts.close()
        self.exploration.close()

    def _run_search(self, state: State, budget: Budget) -> None:
        def found(progress: Progress) -> None:
            latest = progress.latest
            trace = (*state.trace, *latest.path)
            key, before = latest.digest or " → ".join(trace), self._known_before(trace)
            self._add(Node(key, before, trace, latest.cost, latest.error, searched=True))
            if self._ends.is_set():
                raise KeyboardInterrupt  # ends a search as Ctrl-C does

        try:
            self.exploration.search(state, budget, objective=self.goal.name, progress=found)
        except BurnishError as error:
            self.search_error = str(error)

    def _known_before(self, trace: Trace) -> str:
        """Return the key of the node with the longest trace that begins this one."""
        known = {node.trace: node.key for node in tuple(self.nodes.values())}
        lengths = range(len(trace) - 1, -1, -1)
        return next((known[trace[:length]] for length in lengths if trace[:length] in known), "")

    def _measured(self, state: State, before: str, trace: Trace) -> Node:
        """Return the node of a state, whose cost is measured if it is new."""
        if known := self.nodes.get(state.digest):
            return known
        return self._add(Node(state.digest, before, trace, self.exploration.cost(state, self.goal.name)))

    def _crashed(self, before: State, trace: Trace, error: str) -> Node:
        return self._add(Node(f"{before.digest}!{trace[-1]}", before.digest, trace, math.inf, error))

    def _add(self, node: Node) -> Node:
        with self._lock:
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
