"""A search of few compilations: variants of all functions at once, then the best variant of each function.

A variant is a trace after the level's own passes: passes, decisions on code generation, or both. Passes of
functions and decisions change only the code of their own function. So one compilation with the same variant
everywhere tries it at every function, and a last one joins the best of each.

A search of burnish.search opens the program in a worker, and its first trials pay off after several code
generations. Here the first one may, so this is for budgets that allow no more than a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from burnish.core.errors import CompilerCrash
from burnish.core.objective import parse_objective
from burnish.core.session import Session
from burnish.core.staged import StagedSession
from burnish.core.trace import Trace, entries_by_stage, of_sites
from burnish.core.walk import reached, replay_legal
from burnish.search.choosing import cheapest_within
from burnish.tasks.llvm_codegen.session import CodegenSession

OUTLINER = "skip(machine-outliner)"


@dataclass(frozen=True)
class ShortSearch:
    """The best state of a short search, and its cost; the given session itself if nothing is better."""

    session: Session
    cost: float
    evaluations: int  # code generations
    crashes: int = 0  # of the compiler; the first one ends the search


def code_of(session: Session) -> CodegenSession:
    """Return the session of code generation: the given one, or the last one of a staged session."""
    code = session.last if isinstance(session, StagedSession) else session
    assert isinstance(code, CodegenSession)
    return code


def short_search(
    session: Session,
    objective: str,
    variants: Iterable[Trace],
    seconds_left: Callable[[], float],
    least: int = 1,
    remembered: Sequence[Trace] = (),
) -> ShortSearch:
    """Try variants at all functions, then the smallest variant of each function in one object.

    `session` is a CodegenSession, or a staged one that ends so. `least` variants are tried, however little
    time is left; further ones while there is time for them and for the joined object. A function keeps its
    code if a variant makes it slower than the objective's limit allows. The traces in `remembered` are tried
    first: those of sites as one object each, others as variants, too.
    """
    search = _Search(session, objective)
    crashes = 0
    try:
        for trace in remembered:
            if of_sites(trace):
                search.try_whole(trace)
            else:
                search.try_variant(trace)
        _try_variants(search, variants, seconds_left, least)
        search.join()
    except CompilerCrash:
        crashes = 1
    return ShortSearch(search.best, search.cost, search.evaluations, crashes)


def _try_variants(
    search: _Search, variants: Iterable[Trace], seconds_left: Callable[[], float], least: int
) -> None:
    took = 0.0
    for one in variants:
        before = seconds_left()
        if len(search.variants) >= least and before < 2 * took:
            break
        search.try_variant(one)
        took = before - seconds_left() if math.isfinite(before) else 0.0


class _Search:
    """The variants of all functions so far, and the best whole object."""

    def __init__(self, session: Session, objective: str) -> None:
        self.session, self.code, self.objective = session, code_of(session), objective
        formula = parse_objective(objective)
        self.unlimited = formula.unlimited
        limits = {limit.objective: limit.most for limit in formula.limits}
        self.slowest = limits.get("slowdown", math.inf)
        self.largest = limits.get("code-growth", math.inf)
        self.sites = self.code.sites()
        self.variants: list[tuple[Trace, CodegenSession]] = []
        self.best, self.cost = session, session.measure(objective)
        self.evaluations = 0

    def try_variant(self, variant: Trace) -> None:
        """Compile with the same variant at all functions."""
        self.variants.append((variant, self.try_whole(variant, if_fast=True)))

    def try_whole(self, trace: Trace, *, if_fast: bool = False) -> CodegenSession:
        """Compile after a trace; entries that are illegal here are skipped.

        With `if_fast`, the result is the best only if no function is too slow.
        """
        one = self.session.fork()
        replay_legal(one, trace)
        return self._measured(one, if_fast=if_fast)

    def join(self) -> None:
        """Compile with the smallest variant of each function that is fast enough, within the room for code.

        Functions share constants, and callers get slower, too; where LLVM's machine outliner runs, functions
        share code. So the object may have too much code though the functions' own bytes fit: then it is
        joined again with less room. It may be too slow though no function is by itself: then the slow
        functions keep their own code, and nothing is outlined from those that kept it.
        """
        room = self._room()
        chosen = self._chosen(room)
        joined = self._joined(chosen)
        if joined and (above := joined.cost("code-growth") - self.largest) > 0:
            # what the functions' own bytes do not show, such as alignment, takes room, too
            room = min(room, self._growth(chosen)) - above * self._constant_bytes()
            chosen = self._chosen(room)
            joined = self._joined(chosen)
        if not joined or joined.cost("slowdown") <= self.slowest:
            return
        before, ratios = self.code.costs("slowdown"), joined.costs("slowdown")
        slow = {name for name, ratio in ratios.items() if ratio > max(self.slowest, before.get(name, 1.0))}
        unchanged = slow.difference(chosen).intersection(self.sites)
        chosen = self._chosen(room, without=slow)  # those that are left out may have made room for others
        if apart := self._not_outlined():
            chosen |= dict.fromkeys(unchanged, apart)
        self._joined(chosen)

    def _room(self) -> float:
        """Return the bytes by which code and read-only data may grow."""
        return (self.largest - self.code.cost("code-growth")) * self._constant_bytes()

    def _growth(self, chosen: Mapping[str, Trace]) -> float:
        """Return the bytes by which the code and read-only data of functions grow by their variants."""
        before, codes = self.code.site_costs("code-growth"), dict(self.variants)
        return sum(
            codes[trace].site_costs("code-growth")[name] - before[name] for name, trace in chosen.items()
        )

    def _constant_bytes(self) -> int:
        return max(1, self.code.opened.reference_sizes().constant)

    def _not_outlined(self) -> Trace:
        legal = self.code.legal(self.sites[0])
        return (*self._begin(), OUTLINER) if legal[self.code.index(OUTLINER)] else ()

    def _begin(self) -> Trace:
        """Return the entry that begins code generation, if the session is before it."""
        ahead = self.session.stages[self.session.current :] if isinstance(self.session, StagedSession) else ()
        return tuple(stage.begin for stage in ahead)

    def _joined(self, chosen: Mapping[str, Trace]) -> CodegenSession | None:
        if not chosen or (len(self.variants) == 1 and len(chosen) == len(self.sites)):
            return None  # measured already
        return self._measured(
            reached(self.session, entries_by_stage(self._begin(), chosen), skip_illegal=True)
        )

    def _measured(self, state: Session, *, if_fast: bool = False) -> CodegenSession:
        cost, code = state.measure(self.objective), code_of(state)
        self.evaluations += 1
        if cost < self.cost and not (if_fast and any(not self._is_fast(name, code) for name in self.sites)):
            self.best, self.cost = state, cost
        return code

    def _chosen(self, room: float, without: Container[str] = ()) -> dict[str, Trace]:
        """Return the best variant of each function that has one smaller than its code now.

        Functions of `without` keep their code.
        """
        if not (self.variants and self.sites):
            return {}
        limits = self.unlimited, "code-growth"
        now = [self.code.site_costs(limit) for limit in limits]
        change = np.zeros((2, len(self.sites), len(self.variants)))
        for column, (_, code) in enumerate(self.variants):
            costs = [code.site_costs(limit) for limit in limits]
            for row, name in enumerate(self.sites):
                if name in without or not all(name in known for known in (*now, *costs)):
                    continue
                if not self._is_fast(name, code):
                    continue
                for kind, (before, after) in enumerate(zip(now, costs, strict=True)):
                    change[kind, row, column] = after[name] - before[name]
        numbers = cheapest_within(change[0], change[1], room)
        return {
            name: self.variants[number][0]
            for name, number in zip(self.sites, numbers, strict=True)
            if number >= 0
        }

    def _is_fast(self, name: str, code: CodegenSession) -> bool:
        if math.isinf(self.slowest):
            return True
        before, after = self.code.generation().call_costs, code.generation().call_costs
        if after.gotos.get(name, 0) < before.gotos.get(name, 0):
            return False
        if before.counted and not before.counted.get(name):
            return True  # by the profile it is not executed
        return after.own.get(name, 0.0) <= self.slowest * before.own.get(name, 0.0)
