"""One program open in one compiler."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from burnish.core import stepping
from burnish.core.action import action_number
from burnish.core.errors import IllegalAction, InputError, UnknownName
from burnish.core.limit import Limit, limits_of, unlimited
from burnish.core.program import Program
from burnish.core.stepping import MakeAnswerer
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.core.view import Mask, Observed, Start, Step, View
from burnish.core.weighted import factors, is_weighted, product


@dataclass(frozen=True)
class Part:
    """One site of a state, as a program of its own that any process can open.

    Of the session that `open(program)` gives, only what happens at `site` counts: what is applied there does
    what it does here, and the site's cost by the objective changes as it does here.
    """

    open: Callable[[Program], Session]
    program: Program
    site: str


class Session(ABC):
    """What is legal, apply an action, observe, measure; one state that only `apply` changes.

    An action is an index into `actions`. A site is a name from `sites()`, or "" for the whole
    program. `trace` is what was applied so far: replaying it in a new session gives the same state.

    `prices` are of objectives that are limited for all sites together, by the sum of their shares: what a
    unit of such a share counts, at a site, in units of what is minimised. Other limits hold at every site.
    Where one `has_cursor`, actions on the whole program are at the site there, and some only move it.
    """

    prices: ClassVar[Mapping[str, float]] = {}
    has_cursor: ClassVar[bool] = False
    ends: float = math.inf  # of the search that opened the session, by time.monotonic()

    def __init__(self, actions: Sequence[str], reopen: Callable[[], Session] | None = None) -> None:
        self.actions = tuple(actions)
        self.trace: list[str] = []
        self._reopen = reopen
        self._index = {text: i for i, text in enumerate(self.actions)}

    @abstractmethod
    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return which actions apply now: bool[n]; all False for a site that is not (or no longer) there."""

    @abstractmethod
    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Apply one action; False means that the compiler reports no change, which is no promise.

        Raises:
            IllegalAction: it does not apply here; the state is unchanged.
            CompilerCrash: the compiler gave up; outside a sandbox, this session is lost.
        """

    @abstractmethod
    def observe(self, space: str) -> Observed:
        """Return the state as one of the task's observations.

        Raises:
            UnknownName: the task has no such observation.
        """

    @abstractmethod
    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return what `measure` does for one of the task's objectives.

        Raises:
            UnknownName: the task has no such objective.
        """

    def costs(self, objective: str) -> dict[str, float]:
        """Return what `site_costs` does for one of the task's objectives."""
        return {site: self.cost(objective, site) for site in self.sites()}

    def measure(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return the state's cost, above 0, or the part of it that one site has, 0 or above.

        Args:
            objective: One of the task's, 'text-bytes^0.7*seconds^0.3', 'loaded-bytes while slowdown<=1.05'.
            site: A name from `sites()`, or "" for the whole program.

        Raises:
            UnknownName: the task has no such objective.
            InputError: the program has no such cost, say because it cannot be run.
        """
        if limits := limits_of(objective):
            cost = self.measure(unlimited(objective), site)
            for limit in limits:
                cost = self._limited(cost, limit, self.cost(limit.objective, site), site)
            return cost
        if not is_weighted(objective):
            return self.cost(objective, site)
        return product({name: self.cost(name, site) for name in factors(objective)}, objective)

    @abstractmethod
    def digest(self) -> str:
        """Return the identity of the state: equal for states that are the same, byte for byte."""

    def verify(self) -> str:
        """Have the compiler check the state and return what checked it; "" where nothing does.

        Raises:
            CompilerCrash: the state is broken.
        """
        return ""

    def sites(self) -> tuple[str, ...]:
        """Return the names of the places where an action may apply, beside the whole program."""
        return ()

    def identities(self) -> dict[str, str]:
        """Return what each site is, beside its name: equal for sites at which all actions do the same.

        A hash may say so of two that differ; what is found at one is only tried at the other.
        """
        return {}

    def site_costs(self, objective: str, priced: bool = True) -> dict[str, float]:
        """Return each site's own cost; nothing where sites have none of their own.

        Where costs add up, what is chosen at one site is its own matter.

        Args:
            objective: See `measure`.
            priced: With the price of what all sites share; see `prices`.
        """
        if limits := limits_of(objective):
            costs = self.site_costs(unlimited(objective))
            for limit in limits:
                if limit.objective in self.prices and not priced:
                    continue
                shares = self.costs(limit.objective)
                costs = {
                    site: self._limited(cost, limit, shares.get(site, 0.0), site)
                    for site, cost in costs.items()
                }
            return costs
        if not is_weighted(objective):
            return self.costs(objective)
        by_name = {name: self.costs(name) for name in factors(objective)}
        sites = next(iter(by_name.values()))
        return {
            site: product({name: costs[site] for name, costs in by_name.items()}, objective)
            for site in sites
            if all(site in costs for costs in by_name.values())
        }

    def room(self, objective: str) -> float:
        """Return how much more the priced shares of all sites may come to, together; infinity without such.

        That is in units of what is minimised: the shares times their price. Below 0, a limit is exceeded.
        """
        room = math.inf
        for limit in limits_of(objective):
            if limit.objective in self.prices:
                shares = sum(self.costs(limit.objective).values())
                left = shares * (limit.most / max(self.cost(limit.objective), 1e-9) - 1)
                room = min(room, self.prices[limit.objective] * left)
        return room

    def _limited(self, cost: float, limit: Limit, measured: float, site: str) -> float:
        """Return a cost with what a limit of the program's or of a site's adds to it."""
        priced = site != WHOLE_PROGRAM and limit.objective in self.prices
        return cost + self.prices[limit.objective] * measured if priced else limit.cost(cost, measured)

    def alternatives(self) -> Trace:
        """Return entries that answer what is asked otherwise, the most promising first; () if unknown."""
        return ()

    def part(self, site: str, objective: str) -> Part | None:
        """Return a site to be worked on apart from the others; None where that cannot be.

        Args:
            site: A name from `sites()`.
            objective: What will be measured there.
        """
        return None

    def object_code(self) -> bytes:
        """Return the state as an object file, to be linked and run.

        Raises:
            InputError: the task makes none.
        """
        raise InputError(f"{type(self).__name__} makes no object files: its programs cannot be run")

    def fork(self) -> Session:
        """Return a second session in the same state; by default a new one that replays the trace."""
        if self._reopen is None:
            raise NotImplementedError(f"{type(self).__name__} neither overrides fork() nor can be reopened")
        copy = self._reopen()
        copy.replay(self.trace)
        return copy

    def close(self) -> None:  # noqa: B027 - most sessions hold nothing beyond memory
        """Give back what the session holds."""

    def replay(self, trace: Iterable[str]) -> Trace:
        """Apply the entries of a trace, one after the other; return those for which a change was reported."""
        return tuple(text for text in trace if stepping.apply_entry(self, text))

    def index(self, action: str) -> int:
        """Return an action's index.

        Raises:
            UnknownName: the task has no such action.
        """
        try:
            return self._index[action]
        except KeyError:
            raise UnknownName.among("action", action, self.actions) from None

    def start(self, view: View, baselines: Sequence[Callable[[], float]] = ()) -> Start:
        """Find the first sites, observe, measure, look at what is legal, call `baselines`."""
        return stepping.begin(self, view, baselines)

    def begin_fork(
        self, view: View, baselines: Sequence[Callable[[], float]] = ()
    ) -> Callable[[], tuple[Session, Start]]:
        """Return a function that forks this session and starts the copy; in a sandbox, it is at it then."""

        def finish() -> tuple[Session, Start]:
            copy = self.fork()
            return copy, copy.start(view, baselines)

        return finish

    def act(self, action: int, site: str = WHOLE_PROGRAM) -> tuple[bool, str]:
        """Apply, and also return the entry of the trace: a session may act elsewhere, say at a cursor."""
        return self.apply(action, site), self.trace[-1]

    def step(self, action: int, site: str, view: View, sites: tuple[str, ...]) -> Step:
        """Apply, observe, measure and look at what is legal at some sites.

        Args:
            action: What to apply,
            site: and where.
            view: What to look at.
            sites: Where the caller looked before, the whole program before all.
        """
        return stepping.step(self, action, site, view, sites)

    def question(self) -> str:
        """Return the site that the compiler asks about, "" where there is none.

        An action on the whole program that is legal at that site is then an answer to it, and `act` says at
        which site it is in the trace. Every question that is open is one of `sites()`; those without answers
        are the compiler's own to answer, so any state can be measured.
        """
        return ""

    def answer(self, make: MakeAnswerer) -> Trace:
        """Have a policy answer all open questions, in the compiler's order, and return the entries."""
        return stepping.answer(self, make)

    def begin_step(self, action: int, site: str, view: View, sites: tuple[str, ...]) -> Callable[[], Step]:
        """Return a function that makes a step; in a sandbox, it is at it then."""
        return partial(self.step, action, site, view, sites)

    def mask(self, sites: Sequence[str]) -> Mask:
        """Return what is legal at each of `sites`, side by side: bool[len(sites) * n]."""
        return np.concatenate([self.legal(site) for site in sites])

    def check_legal(self, action: int, site: str) -> None:
        """Raise IllegalAction, with what would be legal, unless the action applies now."""
        action = action_number(action, self.actions)
        if (mask := self.legal(site))[action]:
            return
        where = f" at site {site!r}" if site else ""
        now = [self.actions[i] for i in np.flatnonzero(mask)[:6]]
        legal = f"legal there: {', '.join(now)}, ..." if now else "nothing is legal there"
        raise IllegalAction(
            f"{self.actions[action]!r} is illegal{where} after {len(self.trace)} steps; {legal}"
        )

    def record(self, action: int, site: str) -> None:
        """Append an applied action to the trace."""
        self.trace.append(entry(self.actions[action], site))
