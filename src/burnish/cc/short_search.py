"""A search of few compilations: variants of all functions at once, then the best variant of each function.

A variant is a trace after the level's own passes: passes, decisions on code generation, or both. Passes of
functions and decisions change only the code of their own function. So one compilation with the same variant
everywhere tries it at every function, and a last one joins the best of each.

A search of burnish.search opens the program in a worker, and its first trials pay off after several code
generations. Here the first one may, so this is for budgets that allow no more than a few.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile

import numpy as np

from burnish.cc.requests import KeptReference
from burnish.core.errors import CompilerCrash
from burnish.core.objective import parse_objective
from burnish.core.session import Session
from burnish.core.staged import StagedSession
from burnish.core.trace import Trace, entries_by_stage, of_sites
from burnish.core.walk import reached, replay_legal
from burnish.llvm.modules.origin import CallCosts, can_compare_trips
from burnish.search.choosing import cheapest_within
from burnish.tasks.llvm_codegen.session import CodegenSession

OUTLINER = "skip(machine-outliner)"


@dataclass(frozen=True)
class ShortSearch:
    """The best state of a short search, and its cost; the given session itself if nothing is better."""

    session: Session
    cost: float
    evaluations: int  # code generations
    crashes: int = 0  # of the compiler; the first one in this process ends the search


def code_of(session: Session) -> CodegenSession:
    """Return the session of code generation: the given one, or the last one of a staged session."""
    code = session.last if isinstance(session, StagedSession) else session
    assert isinstance(code, CodegenSession)
    return code


def one_after_another(trials: Iterable[Trial]) -> Iterator[Tried | KeptReference]:
    """Make trials in this process."""
    for trial in trials:
        yield trial()


def short_search(
    session: Session,
    objective: str,
    variants: Iterable[Trace],
    seconds_left: Callable[[], float],
    least: int = 1,
    remembered: Sequence[Trace] = (),
    make: Make = one_after_another,
    expected_seconds: float = 0.0,
    everywhere: Trace = (),
) -> ShortSearch:
    """Try variants at all functions, then the smallest variant of each function in one object.

    `session` is a CodegenSession, or a staged one that ends so. `least` variants are tried, however little
    time is left; further ones while there is time for them and for the joined object. A function keeps its
    code if a variant makes it slower than it is, and than the objective's limit allows against the reference.
    The traces in `remembered` are tried first: those of sites as one object each, others as variants, too.

    Args:
        make: Makes the trials, in any order; it takes each one only when it can begin.
        expected_seconds: Of the processor, for a trial; 0: not known before one has ended.
        everywhere: Decisions on the whole program with which all variants are tried, if they alone help.
    """
    search = FunctionSearch(session, objective, everywhere)
    trials = _Trials(search, seconds_left, least + len(remembered), expected_seconds)
    try:
        for tried in make(trials.begun((*remembered, *variants))):
            trials.end(tried)
        search.join()
        return ShortSearch(search.best_session(), search.cost, search.evaluations, search.crashes)
    except CompilerCrash:
        return ShortSearch(search.best_session(), search.cost, search.evaluations, search.crashes + 1)


@dataclass(frozen=True)
class Tried:
    """A code generation after one trace, and what it changes at each function."""

    trace: Trace
    number: int  # in the order of trials
    cost: float
    # changes at the functions that are fast enough: of the minimised objective, of code and read-only data
    saves: Mapping[str, float] = field(repr=False)
    grows: Mapping[str, float] = field(repr=False)
    is_fast: bool  # all functions are fast enough
    code: bytes = field(repr=False)
    calls: CallCosts = field(repr=False)
    state: Session | None = field(default=None, repr=False, compare=False)  # None: another process has it
    seconds: float = field(default=0.0, compare=False)  # 0: they are not limited


Trial = Callable[[], Tried]
Make = Callable[[Iterable[Trial]], Iterator[Tried | KeptReference]]  # see short_search


class _Trials:
    """Trials that begin while there is time for them and for the joined object."""

    def __init__(
        self, search: FunctionSearch, seconds_left: Callable[[], float], least: int, expected_seconds: float
    ) -> None:
        self.search, self.seconds_left = search, seconds_left
        self.least, self.expected_seconds = least, expected_seconds
        self.running = 0

    def begun(self, traces: Iterable[Trace]) -> Iterator[Trial]:
        """Yield one trial for each trace."""
        for number, trace in enumerate(traces):
            if number >= self.least and self.seconds_left() < (2 + self.running) * self.expected_seconds:
                return
            self.running += 1
            yield partial(self._timed, trace, number)

    def _timed(self, trace: Trace, number: int) -> Tried:
        before = self.seconds_left()
        tried = self.search.tried(trace, number)
        return replace(tried, seconds=before - self.seconds_left()) if math.isfinite(before) else tried

    def end(self, trial: Tried | KeptReference) -> None:
        """Take the result of a trial."""
        self.running -= 1
        if isinstance(trial, Tried):
            self.expected_seconds = trial.seconds
            self.search.take(trial)
        else:
            self.search.crashes += 1


class FunctionSearch:
    """The variants of all functions so far, and the best whole object."""

    def __init__(self, session: Session, objective: str, everywhere: Trace) -> None:
        self.session, self.objective = session, objective
        formula = parse_objective(objective)
        self.unlimited = formula.unlimited
        limits = {limit.objective: limit.most for limit in formula.limits}
        self.slowest = limits.get("slowdown", math.inf)
        self.largest = limits.get("code-growth", math.inf)
        self.variants: list[Tried] = []  # in the order of trials
        self.best: Session | Tried = session
        self.cost = session.measure(objective)
        self.evaluations = self.crashes = 0
        self.everywhere: Trace = ()
        self.code = code_of(session)  # that variants change
        self.sites = self.code.sites()
        if everywhere:
            self._begin_with(everywhere)

    def _begin_with(self, everywhere: Trace) -> None:
        state = self.session.fork()
        replay_legal(state, (*self._begin(), *everywhere))
        code = self._measured(state)
        if self.best is state:
            self.code, self.everywhere, self.sites = code, everywhere, code.sites()

    def _with_everywhere(self, trace: Trace) -> Trace:
        """Return a variant's trace with these decisions where code generation begins."""
        if not self.everywhere:
            return trace
        begin = self._begin()
        passes = tuple(takewhile(lambda text: text not in begin, trace)) if begin else ()
        return (*passes, *begin, *self.everywhere, *trace[len(passes) + len(begin) :])

    def tried(self, trace: Trace, number: int) -> Tried:
        """Compile after a trace; entries that are illegal here are skipped."""
        state = self.session.fork()
        replay_legal(state, self._with_everywhere(trace))
        cost, code = state.measure(self.objective), code_of(state)
        slow = {name for name in self.sites if not self.is_fast(name, code)}
        saves, grows = (self._changes(limit, code, slow) for limit in (self.unlimited, "code-growth"))
        made = code.generation()
        return Tried(trace, number, cost, saves, grows, not slow, made.code, made.call_costs, state)

    def take(self, tried: Tried) -> None:
        """Keep a trial: as a variant of each function, unless it differs by function, and if it is the best.

        A variant of all functions is the best only if no function is too slow.
        """
        self.evaluations += 1
        varies = not of_sites(tried.trace)
        if varies:
            insort(self.variants, replace(tried, state=None), key=lambda one: one.number)
        best = self.best.number if isinstance(self.best, Tried) else -1  # of equal ones, the first
        if (tried.cost, tried.number) < (self.cost, best) and (tried.is_fast or not varies):
            self.best, self.cost = tried, tried.cost

    def best_session(self) -> Session:
        """Return the session in the best state."""
        if not isinstance(self.best, Tried):
            return self.best
        if self.best.state:
            return self.best.state
        state = self.session.fork()
        replay_legal(state, self.best.trace)
        code_of(state).know(self.best.code, self.best.calls)
        return state

    def _changes(self, objective: str, code: CodegenSession, without: Container[str]) -> dict[str, float]:
        before, after = (one.site_costs(objective) for one in (self.code, code))
        known = [name for name in self.sites if name in before and name in after and name not in without]
        return {name: after[name] - before[name] for name in known}

    def join(self) -> None:
        """Compile with the smallest variant of each function that is fast enough, within the room for code.

        Functions share constants, and callers get slower, too; where LLVM's machine outliner runs, functions
        share code. So the object may have too much code though the functions' own bytes fit: then it is
        joined again with less room. It may be too slow though no function is by itself: then the slow
        functions keep their own code, until none is slow. Nothing is outlined from those that had kept it.
        """
        room = self.room()
        chosen = self._chosen(room)
        joined = self.joined(chosen)
        if joined and (above := joined.cost("code-growth") - self.largest) > 0:
            # what the functions' own bytes do not show, such as alignment, takes room, too
            room = min(room, self._growth(chosen)) - above * self._constant_bytes()
            chosen = self._chosen(room)
            joined = self.joined(chosen)
        left_out: set[str] = set()
        apart: set[str] = set()
        while joined and (slow := self._slow(joined) - apart):
            apart |= slow.difference(chosen)
            left_out |= slow
            chosen = self._chosen(room, without=left_out)  # they may have made room for others
            if not_outlined := self._not_outlined():
                chosen |= dict.fromkeys(apart.intersection(self.sites), not_outlined)
            joined = self.joined(chosen)

    def _slow(self, code: CodegenSession) -> set[str]:
        """Return the functions that are too slow: by themselves; if the object is, with their callees."""
        if math.isinf(self.slowest):
            return set()
        slow = {name for name in self.sites if not self.is_fast(name, code)}
        if code.cost("slowdown") > self.slowest:
            before, ratios = self.code.costs("slowdown"), code.costs("slowdown")
            most = {name: max(self.slowest, before.get(name, 1.0)) for name in ratios}
            slow |= {name for name, ratio in ratios.items() if ratio > most[name]}
        return slow

    def together(self, chosen: Mapping[str, Trace]) -> CodegenSession | None:
        """Compile functions' traces in one object; if it is too slow, again without those of slow ones."""
        joined = self.joined(chosen)
        if joined and (slow := self._slow(joined)):
            return self.joined({name: trace for name, trace in chosen.items() if name not in slow}) or joined
        return joined

    def room(self, code: CodegenSession | None = None) -> float:
        """Return the bytes by which the code and read-only data of an object may grow."""
        return (self.largest - (code or self.code).cost("code-growth")) * self._constant_bytes()

    def _growth(self, chosen: Mapping[str, Trace]) -> float:
        """Return the bytes by which the code and read-only data of functions grow by their variants."""
        grows = {one.trace: one.grows for one in self.variants}
        return sum(grows[trace][name] for name, trace in chosen.items())

    def _constant_bytes(self) -> int:
        return max(1, self.code.opened.reference_sizes().constant)

    def _not_outlined(self) -> Trace:
        legal = self.code.legal(self.sites[0])
        return (*self._begin(), OUTLINER) if legal[self.code.index(OUTLINER)] else ()

    def _begin(self) -> Trace:
        """Return the entry that begins code generation, if the session is before it."""
        ahead = self.session.stages[self.session.current :] if isinstance(self.session, StagedSession) else ()
        return tuple(stage.begin for stage in ahead)

    def joined(self, chosen: Mapping[str, Trace]) -> CodegenSession | None:
        """Compile functions' traces in one object; None: there are none, or it was measured already."""
        if not chosen or (len(self.variants) == 1 and len(chosen) == len(self.sites)):
            return None  # measured already
        return self._measured(
            reached(
                self.session, entries_by_stage((*self._begin(), *self.everywhere), chosen), skip_illegal=True
            )
        )

    def _measured(self, state: Session) -> CodegenSession:
        """Compile; keep the state if it is the best one and no function is too slow."""
        cost, code = state.measure(self.objective), code_of(state)
        self.evaluations += 1
        if cost < self.cost and not self._slow(code):
            self.best, self.cost = state, cost
        return code

    def _chosen(self, room: float, without: Container[str] = ()) -> dict[str, Trace]:
        """Return the best variant of each function that has one smaller than its code now.

        Functions of `without` keep their code.
        """
        if not (self.variants and self.sites):
            return {}
        change = np.zeros((2, len(self.sites), len(self.variants)))
        for column, one in enumerate(self.variants):
            for row, name in enumerate(self.sites):
                if name in one.saves and name in one.grows and name not in without:
                    change[:, row, column] = one.saves[name], one.grows[name]
        numbers = cheapest_within(change[0], change[1], room)
        return {
            name: self.variants[number].trace
            for name, number in zip(self.sites, numbers, strict=True)
            if number >= 0
        }

    def is_fast(self, name: str, code: CodegenSession) -> bool:
        """Return whether a function's code keeps the limit on its own time."""
        if math.isinf(self.slowest):
            return True
        before, after = self.code.generation().call_costs, code.generation().call_costs
        if after.gotos.get(name, 0) < before.gotos.get(name, 0):
            return False
        if before.counted and not before.counted.get(name):
            return True  # by the profile it is not executed
        # The whole program's trace may have made it slower than the reference's already.
        reference, own = self.code.opened.reference_calls(), before.own.get(name, 0.0)
        if after.own.get(name, 0.0) > max(own, self.slowest * reference.own.get(name, own)):
            return False
        if not can_compare_trips(name, after, reference):
            return True
        most = self.slowest * reference.own_by_trips(name)
        if can_compare_trips(name, before, reference):
            most = max(most, before.own_by_trips(name))
        return after.own_by_trips(name) <= most
