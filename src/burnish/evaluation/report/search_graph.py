"""Graphs of a search's evaluations: the nodes are states, the edges are trace entries."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from burnish.console.numbers import TIMES, seconds_text
from burnish.core.errors import CompilerCrash, IllegalAction
from burnish.core.objective import Objective
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.search.space import Evaluation

MOST_STATES = 80  # larger graphs are unreadable


@dataclass(frozen=True)
class SearchGraph:
    """States by their digests, the initial one first.

    Attributes:
        costs: Each state's cost, without penalties of limits; NaN if unknown.
        edges: Entries by their states before and after; of several entries, the first one.
        best: The states on the path from the initial state to the cheapest one.
        unit: The unit of the costs.
        reference: The cost that others are compared with.
        exceeded: The exceeded limits, in words, by state.
        left_out: The number of evaluated traces that are not shown: the graph is full, or a replay failed.
    """

    costs: dict[str, float]
    edges: dict[tuple[str, str], str]
    best: tuple[str, ...]
    unit: str
    reference: float
    exceeded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: int = 0

    @property
    def parents(self) -> dict[str, str]:
        """Each state's predecessor: on the best path, or else on a shortest path that begins there."""
        after: dict[str, list[str]] = {}
        for before, state in self.edges:
            after.setdefault(before, []).append(state)
        found = {state: before for before, state in zip(self.best, self.best[1:], strict=False)}
        queue = deque(self.best)
        while queue:
            before = queue.popleft()
            for state in after.get(before, ()):
                if state not in found and state != self.best[0]:
                    found[state] = before
                    queue.append(state)
        return found

    def label(self, state: str) -> tuple[str, ...]:
        """Return a state's lines: its cost with the change from the reference, and the exceeded limits."""
        cost, above = self.costs[state], self.exceeded.get(state, ())
        if not math.isfinite(cost):
            return above
        change = 100 * (cost / self.reference - 1)
        return f"{_quantity(cost, self.unit)} ({change:+.1f} %)", *above

    @property
    def note(self) -> str:
        """An explanation of the figures, and the number of traces that are not shown."""
        lines = [f"percentages: change from the reference, {_quantity(self.reference, self.unit)}"]
        if self.exceeded:
            lines.append("dashed: exceeds a limit, which is named below the cost")
        if self.left_out:
            lines.append(f"{self.left_out} more evaluated traces are not shown")
        return "; ".join(lines)

    @property
    def condensed(self) -> SearchGraph:
        """The graph without intermediate states that have no new label: their two edges become one."""
        edges = dict(self.edges)
        costs = dict(self.costs)
        root, end = self.best[0], self.best[-1]
        for state in self.costs:
            before = [edge for edge in edges if edge[1] == state]
            after = [edge for edge in edges if edge[0] == state]
            if state in (root, end) or len(before) != 1 or len(after) != 1:
                continue
            joined = (before[0][0], after[0][1])
            same = self.label(state) in ((), self.label(joined[0]))
            if same and joined not in edges and joined[0] != joined[1]:
                edges[joined] = f"{edges.pop(before[0])}, {edges.pop(after[0])}"
                del costs[state]
        best = tuple(state for state in self.best if state in costs)
        return replace(self, costs=costs, edges=edges, best=best)


@dataclass
class Recorder:
    """Stores a search's evaluations; a callback for each evaluation."""

    evaluations: dict[Trace, Evaluation] = field(default_factory=dict)

    def __call__(self, evaluation: Evaluation) -> None:
        """Store an evaluation, unless it failed."""
        if not evaluation.error:
            self.evaluations[evaluation.path] = evaluation


def graph_of(
    root: Session,
    evaluations: Iterable[Evaluation],
    goal: Objective,
    reference: float,
    most: int = MOST_STATES,
) -> SearchGraph:
    """Replay the best traces step by step, and return the graph of their states.

    Args:
        root: The session of the opened program; it is not changed.
        evaluations: Evaluations of whole traces.
        goal: The minimised objective; the evaluations' costs include its limits' penalties.
        reference: The cost that others are compared with.
        most: No further trace is replayed once there are so many states.

    Raises:
        CompilerCrash: the compiler crashes on the unchanged program.
    """
    ordered = sorted(evaluations, key=lambda item: item.order)
    costs: dict[str, float] = {}
    exceeded: dict[str, tuple[str, ...]] = {}
    edges: dict[tuple[str, str], str] = {}
    best: tuple[str, ...] = ()
    shown = 0

    def look(session: Session, evaluated: Evaluation | None) -> str:
        """Measure a session's state, unless its cost is known; return its digest."""
        state = session.digest()
        if math.isnan(costs.get(state, math.nan)):
            costs[state], exceeded[state] = _measured(session, goal, evaluated)
        return state

    look(root, next((item for item in ordered if not item.path), None))
    for item in ordered:
        if len(costs) >= most:
            break
        with suppress(
            CompilerCrash, IllegalAction
        ):  # a worker reached this state, so the failure depends on the machine and not on the trace
            way = _way(root, item, look)
            for before, state, text in zip(way, way[1:], item.path, strict=False):
                if before != state:
                    edges.setdefault((before, state), text)
            best = best or _without_loops(way)
            shown += 1
    exceeded = {state: above for state, above in exceeded.items() if above}
    return SearchGraph(
        costs, edges, best or tuple(costs), goal.unit, reference, exceeded, len(ordered) - shown
    )


def _measured(
    session: Session, goal: Objective, evaluated: Evaluation | None
) -> tuple[float, tuple[str, ...]]:
    """Return a state's cost without penalties (NaN if unknown), and the exceeded limits in words."""
    if goal.noisy and not evaluated:  # a single run is too noisy
        return math.nan, ()
    measured = {limit: session.measure(limit.objective) for limit in goal.formula.limits}
    above = tuple(
        f"{limit.objective} {_figure_above(value, limit.most)} > {limit.most:g}"
        for limit, value in measured.items()
        if value > limit.most
    )
    if not goal.noisy:
        return session.measure(goal.formula.unlimited), above
    # an evaluation's cost includes a penalty if a limit is exceeded
    return evaluated.cost if evaluated and not above else math.nan, above


def _figure(value: float) -> str:
    """Write a count in full, other numbers with three digits."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def _quantity(cost: float, unit: str) -> str:
    return seconds_text(cost) if unit in TIMES else f"{_figure(cost)} {unit}"


def _figure_above(value: float, limit: float) -> str:
    """Write a number above a limit with as many digits as show that it is above."""
    text, digits = _figure(value), 3
    while float(text.replace(",", "")) <= limit:
        digits += 1
        text = f"{value:.{digits}g}"
    return text


def _way(
    root: Session, evaluation: Evaluation, look: Callable[[Session, Evaluation | None], str]
) -> list[str]:
    """Return the digests of the states along a trace."""
    session = root.fork()
    try:
        digests = [session.digest()]
        for number, text in enumerate(evaluation.path, 1):
            session.apply_entry(text)
            digests.append(look(session, evaluation if number == len(evaluation.path) else None))
        return digests
    finally:
        session.close()


def _without_loops(way: list[str]) -> tuple[str, ...]:
    """Return a path that contains each state once."""
    short: list[str] = []
    for state in way:
        if state in short:
            del short[short.index(state) + 1 :]
        else:
            short.append(state)
    return tuple(short)
