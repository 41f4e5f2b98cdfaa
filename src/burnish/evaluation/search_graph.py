"""What a search evaluated, as a graph: states by their digests, and the entries between them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from burnish.core.errors import CompilerCrash, IllegalAction
from burnish.core.session import Session
from burnish.core.stepping import apply_entry
from burnish.core.trace import Trace
from burnish.search.space import Evaluation

MOST_STATES = 80  # more cannot be read


@dataclass(frozen=True)
class SearchGraph:
    """States by their digests, the initial one first.

    Attributes:
        costs: What each was found to cost; NaN where it was only on the way to others.
        edges: Entries by the states that they lead from and to, the first one where there are several.
        best: The states on the way to the cheapest one, from the initial one on.
        unit: Of the costs.
        reference: A cost that others are compared with.
        left_out: Evaluated traces that are not shown, as there are too many or they could not be repeated.
    """

    costs: dict[str, float]
    edges: dict[tuple[str, str], str]
    best: tuple[str, ...]
    unit: str
    reference: float
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
        """Return the cost of a state, and how many times less that is than the reference."""
        cost = self.costs[state]
        if not math.isfinite(cost):
            return ()
        return f"{cost:.4g} {self.unit}", f"{self.reference / cost:.3g}x"

    @property
    def note(self) -> str:
        """Say what is not shown; "" where all is."""
        return f"{self.left_out} more evaluated traces are not shown" if self.left_out else ""


@dataclass
class Recorder:
    """Keeps what a search evaluated: call it with each evaluation."""

    evaluations: dict[Trace, Evaluation] = field(default_factory=dict)

    def __call__(self, evaluation: Evaluation) -> None:
        """Keep one, unless it failed."""
        if not evaluation.error:
            self.evaluations[evaluation.path] = evaluation


def graph_of(
    root: Session, evaluations: Iterable[Evaluation], unit: str, reference: float, most: int = MOST_STATES
) -> SearchGraph:
    """Repeat the best traces, step by step, for the states on their ways.

    Args:
        root: The program as it is opened; it stays as it is.
        evaluations: Of whole traces.
        unit: Of the costs.
        reference: What costs are compared with.
        most: No further trace is repeated when there are so many states.

    Raises:
        CompilerCrash: the compiler does not survive its own program.
    """
    ordered = sorted(evaluations, key=lambda item: item.order)
    costs = {root.digest(): next((item.cost for item in ordered if not item.path), math.nan)}
    edges: dict[tuple[str, str], str] = {}
    best: tuple[str, ...] = ()
    shown = 0
    for item in ordered:
        if len(costs) >= most:
            break
        with suppress(
            CompilerCrash, IllegalAction
        ):  # a worker had reached it: it is the machine that differs
            way = _way(root, item.path)
            for before, state, text in zip(way, way[1:], item.path, strict=False):
                costs.setdefault(state, math.nan)
                if before != state:
                    edges.setdefault((before, state), text)
            if math.isnan(costs[way[-1]]):  # the first one is the cheapest
                costs[way[-1]] = item.cost
            best = best or _without_loops(way)
            shown += 1
    return SearchGraph(costs, edges, best or tuple(costs), unit, reference, len(ordered) - shown)


def _way(root: Session, path: Trace) -> list[str]:
    """Return the digests of the states that a trace goes through."""
    session = root.fork()
    try:
        digests = [session.digest()]
        for text in path:
            apply_entry(session, text)
            digests.append(session.digest())
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
