"""A search of few code generations: prior sets of decisions at all functions, then the best set at each.

A search of burnish.search opens the program in a worker, and its first trials pay off after several code
generations. Here the first one may, so this is for budgets that allow no more than a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from burnish.core.errors import CompilerCrash
from burnish.core.objective import parse_objective
from burnish.core.trace import Trace, entries_at
from burnish.core.walk import reached, replay_legal
from burnish.tasks.llvm_codegen.session import CodegenSession

OUTLINER = "skip(machine-outliner)"


@dataclass(frozen=True)
class ShortSearch:
    """The best state of a short search, and its cost; the given session itself if nothing is better."""

    session: CodegenSession
    cost: float
    evaluations: int  # code generations
    crashes: int = 0  # of the compiler; the first one ends the search


def short_search(
    session: CodegenSession,
    objective: str,
    sets: Iterable[Trace],
    seconds_left: Callable[[], float],
    least: int = 1,
    remembered: Sequence[Trace] = (),
) -> ShortSearch:
    """Try sets of decisions at all functions, then the smallest variant of each function in one object.

    `least` sets are tried, however little time is left; further ones while there is time for them and for
    the joined object. A function keeps its code if a set makes it slower than the objective's limit allows.
    The traces in `remembered` are tried first, each as one object.
    """
    search = _Search(session, objective)
    crashes = 0
    try:
        for trace in remembered:
            search.try_whole(trace)
        _try_sets(search, sets, seconds_left, least)
        search.join()
    except CompilerCrash:
        crashes = 1
    return ShortSearch(search.best, search.cost, search.evaluations, crashes)


def _try_sets(search: _Search, sets: Iterable[Trace], seconds_left: Callable[[], float], least: int) -> None:
    took = 0.0
    for one in sets:
        before = seconds_left()
        if len(search.variants) >= least and before < 2 * took:
            break
        search.try_set(one)
        took = before - seconds_left() if math.isfinite(before) else 0.0


class _Search:
    """The variants of all functions so far, and the best whole object."""

    def __init__(self, session: CodegenSession, objective: str) -> None:
        self.session, self.objective = session, objective
        formula = parse_objective(objective)
        self.unlimited = formula.unlimited
        limits = {limit.objective: limit.most for limit in formula.limits}
        self.slowest = limits.get("slowdown", math.inf)
        self.sites = session.sites()
        self.variants: list[tuple[Trace, CodegenSession, Mapping[str, float]]] = []
        self.best, self.cost = session, session.measure(objective)
        self.evaluations = 0

    def try_set(self, decisions: Trace) -> None:
        """Generate code with the same decisions at all functions."""
        one = self.try_whole(decisions)
        self.variants.append((decisions, one, one.site_costs(self.unlimited)))

    def try_whole(self, trace: Trace) -> CodegenSession:
        """Generate code after a trace; entries that are illegal here are skipped."""
        one = self.session.fork()
        replay_legal(one, trace)
        self._measure(one)
        return one

    def join(self) -> None:
        """Generate code with the smallest variant of each function that is fast enough.

        Callers get slower, too, and where LLVM's machine outliner runs, functions share code. So the object
        may be too slow though no function is by itself. Then the slow functions keep their own code, and
        nothing is outlined from those that kept it.
        """
        chosen = self._chosen()
        joined = self._joined(chosen)
        if not joined or joined.cost("slowdown") <= self.slowest:
            return
        before, apart = self.session.costs("slowdown"), self._not_outlined()
        for name, ratio in joined.costs("slowdown").items():
            if ratio <= max(self.slowest, before.get(name, 1.0)):
                continue
            if not chosen.pop(name, ()) and apart and name in self.sites:
                chosen[name] = apart
        self._joined(chosen)

    def _not_outlined(self) -> Trace:
        legal = self.session.legal(self.sites[0])
        return (OUTLINER,) if legal[self.session.index(OUTLINER)] else ()

    def _joined(self, chosen: Mapping[str, Trace]) -> CodegenSession | None:
        if not chosen or (len(self.variants) == 1 and len(chosen) == len(self.sites)):
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

    def _chosen(self) -> dict[str, Trace]:
        """Return the smallest variant of each function that has one smaller than its code now."""
        now = self.session.site_costs(self.unlimited)
        found: dict[str, Trace] = {}
        for name in self.sites:
            least = now.get(name, 0.0)
            for decisions, state, costs in self.variants:
                if costs.get(name, math.inf) < least and self._is_fast(name, state):
                    found[name], least = decisions, costs[name]
        return found

    def _is_fast(self, name: str, state: CodegenSession) -> bool:
        if math.isinf(self.slowest):
            return True
        before, after = self.session.generation().call_costs, state.generation().call_costs
        if after.gotos.get(name, 0) < before.gotos.get(name, 0):
            return False
        if before.counted and not before.counted.get(name):
            return True  # by the profile it is not executed
        return after.own.get(name, 0.0) <= self.slowest * before.own.get(name, 0.0)
