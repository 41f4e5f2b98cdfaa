"""What a search evaluated, as a graph: states by their digests, and the entries between them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from burnish.core.errors import CompilerCrash, IllegalAction
from burnish.core.objective import Objective
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.search.space import Evaluation

MOST_STATES = 80  # more cannot be read


@dataclass(frozen=True)
class SearchGraph:
    """States by their digests, the initial one first.

    Attributes:
        costs: What each costs, whatever the limits say; NaN where it was only on the way to others.
        edges: Entries by the states that they lead from and to, the first one where there are several.
        best: The states on the way to the cheapest one, from the initial one on.
        unit: Of the costs.
        reference: A cost that others are compared with.
        exceeded: What exceeds a limit, in words, by state.
        left_out: Evaluated traces that are not shown, as there are too many or they could not be repeated.
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
        """Return the state before each on a way to it that is as short as any, the best way first."""
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
        """Return the cost of a state beside the reference, and what exceeds a limit."""
        cost, above = self.costs[state], self.exceeded.get(state, ())
        if not math.isfinite(cost):
            return above
        change = 100 * (cost / self.reference - 1)
        return f"{_figure(cost)} {self.unit} ({change:+.1f} %)", *above

    @property
    def note(self) -> str:
        """Say what the figures mean, and what is not shown."""
        lines = [f"percentages: change from the reference, {_figure(self.reference)} {self.unit}"]
        if self.exceeded:
            lines.append("dashed: exceeds a limit, which is named below the cost")
        if self.left_out:
            lines.append(f"{self.left_out} more evaluated traces are not shown")
        return "; ".join(lines)

    @property
    def condensed(self) -> SearchGraph:
        """The graph without states on the way that say nothing new: their edges become one."""
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
    """Keeps what a search evaluated: call it with each evaluation."""

    evaluations: dict[Trace, Evaluation] = field(default_factory=dict)

    def __call__(self, evaluation: Evaluation) -> None:
        """Keep one, unless it failed."""
        if not evaluation.error:
            self.evaluations[evaluation.path] = evaluation


def graph_of(
    root: Session,
    evaluations: Iterable[Evaluation],
    goal: Objective,
    reference: float,
    most: int = MOST_STATES,
) -> SearchGraph:
    """Repeat the best traces, step by step, for the states on their ways.

    Args:
        root: The program as it is opened; it stays as it is.
        evaluations: Of whole traces.
        goal: What was minimised: what a search counts is more than that costs where a limit is exceeded.
        reference: What costs are compared with.
        most: No further trace is repeated when there are so many states.

    Raises:
        CompilerCrash: the compiler does not survive its own program.
    """
    ordered = sorted(evaluations, key=lambda item: item.order)
    costs: dict[str, float] = {}
    exceeded: dict[str, tuple[str, ...]] = {}
    edges: dict[tuple[str, str], str] = {}
    best: tuple[str, ...] = ()
    shown = 0

    def look(session: Session, evaluated: Evaluation | None) -> str:
        """Measure the state of a session, unless that is known; return its digest."""
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
        ):  # a worker had reached it: it is the machine that differs
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
    """Return what a state costs without the limits, NaN where that is not known, and what exceeds them."""
    if goal.noisy and not evaluated:  # a single run says little
        return math.nan, ()
    measured = {limit: session.measure(limit.objective) for limit in goal.formula.limits}
    above = tuple(
        f"{limit.objective} {_figure(value)} > {limit.most:g}"
        for limit, value in measured.items()
        if value > limit.most
    )
    if not goal.noisy:
        return session.measure(goal.formula.unlimited), above
    # a search counts more than the cost where a limit is exceeded
    return evaluated.cost if evaluated and not above else math.nan, above


def _figure(value: float) -> str:
    """Write a count in full, another number in three digits."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def _way(
    root: Session, evaluation: Evaluation, look: Callable[[Session, Evaluation | None], str]
) -> list[str]:
    """Return the digests of the states that a trace goes through."""
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
    """Return a way that goes through no state twice."""
    short: list[str] = []
    for state in way:
        if state in short:
            del short[short.index(state) + 1 :]
        else:
            short.append(state)
    return tuple(short)
