"""A search of few code generations: prior sets of decisions at all functions, then the best set at each.

A search of burnish.search opens the program in a worker, and its first trials pay off after several code
generations. Here the first one may, so this is for budgets that allow no more than a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from burnish.core.objective import parse_objective
from burnish.core.trace import Trace, entries_at
from burnish.core.walk import reached, replay_legal
from burnish.tasks.llvm_codegen.session import CodegenSession

SLOWER = 1.01  # own instructions of a function, if the joined code is too slow with those that a limit allows


@dataclass(frozen=True)
class ShortSearch:
    """The best state of a short search, and its cost; the given session itself if nothing is better."""

    session: CodegenSession
    cost: float
    evaluations: int  # code generations


def short_search(
    session: CodegenSession, objective: str, sets: Iterable[Trace], seconds_left: Callable[[], float]
) -> ShortSearch:
    """Try sets of decisions at all functions, then the smallest variant of each function in one object.

    At least one set is tried, however little time is left; further ones while there is time for them and for
    the joined object. A function keeps its code if a set makes it slower than the objective's limit allows.
    """
    search = _Search(session, objective)
    took = 0.0
    for one in sets:
        before = seconds_left()
        if search.variants and before < 2 * took:
            break
        search.try_set(one)
        took = before - seconds_left() if math.isfinite(before) else 0.0
    search.join(repairs=seconds_left() > took)
    return ShortSearch(search.best, search.cost, search.evaluations)


class _Search:
    """The variants of all functions so far, and the best whole object."""

    def __init__(self, session: CodegenSession, objective: str) -> None:
        self.session, self.objective = session, objective
        formula = parse_objective(objective)
        self.unlimited = formula.unlimited
        limits = {limit.objective: limit.most for limit in formula.limits}
        self.slowest = limits.get("slowdown", math.inf)
        self.variants: list[tuple[Trace, CodegenSession, Mapping[str, float]]] = []
        self.best, self.cost = session, session.measure(objective)
        self.evaluations = 0

    def try_set(self, decisions: Trace) -> None:
        """Generate code with the same decisions at all functions."""
        one = self.session.fork()
        replay_legal(one, decisions)
        self._measure(one)
        self.variants.append((decisions, one, one.site_costs(self.unlimited)))

    def join(self, *, repairs: bool) -> None:
        """Generate code with the smallest variant of each function that is fast enough.

        Callers are slower, too, and on machines with LLVM's machine outliner functions share code. So the
        object may be too slow though no function alone is. Then leave out what is slower, and repeat.
        """
        chosen = self._chosen(self.slowest)
        joined = self._joined(chosen)
        if joined and repairs and joined.cost("slowdown") > self.slowest:
            too_slow = {name for name, ratio in joined.costs("slowdown").items() if ratio > self.slowest}
            chosen = {name: one for name, one in self._chosen(SLOWER).items() if name not in too_slow}
            self._joined(chosen)

    def _joined(self, chosen: Mapping[str, Trace]) -> CodegenSession | None:
        if not chosen or (len(self.variants) == 1 and len(chosen) == len(self.session.sites())):
            return None  # measured already
        joined = reached(self.session, entries_at(chosen))
        assert isinstance(joined, CodegenSession)
        self._measure(joined)
        return joined

    def _measure(self, state: CodegenSession) -> None:
        cost = state.measure(self.objective)
        self.evaluations += 1
        if cost < self.cost:
            self.best, self.cost = state, cost

    def _chosen(self, slowest: float) -> dict[str, Trace]:
        """Return the smallest variant of each function that has one smaller than its code now."""
        now = self.session.site_costs(self.unlimited)
        found: dict[str, Trace] = {}
        for name in self.session.sites():
            least = now.get(name, 0.0)
            for decisions, state, costs in self.variants:
                if costs.get(name, math.inf) < least and self._is_fast(name, state, slowest):
                    found[name], least = decisions, costs[name]
        return found

    def _is_fast(self, name: str, state: CodegenSession, slowest: float) -> bool:
        if math.isinf(slowest):
            return True
        before, after = self.session.generation().call_costs, state.generation().call_costs
        if after.gotos.get(name, 0) < before.gotos.get(name, 0):
            return False
        return after.own.get(name, 0.0) <= slowest * before.own.get(name, 0.0)
