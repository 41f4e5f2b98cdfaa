"""Sessions: one program open in one compiler."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import ClassVar

import numpy as np

from burnish.core.action import action_number
from burnish.core.answer import MakeAnswerer, made
from burnish.core.errors import IllegalAction, InputError, UnknownName, nearest
from burnish.core.objective import Limit, parse_objective
from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry, split_entry
from burnish.core.view import Mask, Observed, Start, Step, View


@dataclass(frozen=True)
class Part:
    """One site of a state, as an independent program that any process can open.

    In the session that `open(program)` returns, only `site` matters: actions at the site have the same effect
    as in the original state, and the site's cost by the objective changes by the same amount.
    """

    open: Callable[[Program], Session]
    program: Program
    site: str


class Session(ABC):
    """An interface to a compiler's state: legal actions, observations, costs; only `apply` changes the state.

    An action is an index into `actions`. A site is a name from `sites()`, or "" for the whole
    program. `trace` is the sequence of applied actions: replaying it in a new session gives the same state.

    `prices` are exchange rates for objectives that are limited over the whole program. One unit of a site's
    share costs that many units of the minimised objective. All other limits apply at every site. With
    `has_cursor`, actions on the whole program apply at the cursor's site, and some only move the cursor.
    """

    prices: ClassVar[Mapping[str, float]] = {}
    has_cursor: ClassVar[bool] = False
    ends: float = math.inf  # time.monotonic() at the end of the search that opened the session

    def __init__(self, actions: Sequence[str], reopen: Callable[[], Session] | None = None) -> None:
        self.actions = tuple(actions)
        self.trace: list[str] = []
        self._reopen = reopen
        self._index = {text: i for i, text in enumerate(self.actions)}

    @abstractmethod
    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the mask of legal actions, bool[n]; all False if there is no such site (any more)."""

    @abstractmethod
    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Apply one action; return False if the compiler reports no change, though the report may be wrong.

        The trace's new entry may be at another site, as with a cursor.

        Raises:
            IllegalAction: the action does not apply here; the state is unchanged.
            CompilerCrash: the compiler gave up; outside a sandbox, this session is lost.
        """

    @abstractmethod
    def observe(self, space: str) -> Observed:
        """Return the state as one of the task's observations, or raise UnknownName."""

    @abstractmethod
    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return the same as `measure` for one of the task's own objectives, or raise UnknownName."""

    def costs(self, objective: str) -> dict[str, float]:
        """Return the same as `site_costs` for one of the task's own objectives."""
        return {site: self.cost(objective, site) for site in self.sites()}

    def measure(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return the state's cost, above 0, or one site's share of the cost, 0 or above.

        Args:
            objective: The text of an objective: see burnish.core.objective.
            site: A name from `sites()`, or "" for the whole program.

        Raises:
            UnknownName: the task has no such objective.
            InputError: the program has no such cost, for example because it cannot be run.
        """
        formula = parse_objective(objective)
        cost = formula.cost(lambda name: self.cost(name, site))
        for limit in formula.limits:
            cost = self._limited(cost, limit, self.cost(limit.objective, site), site)
        return cost

    @abstractmethod
    def digest(self) -> str:
        """Return the identity of the state: equal for states that are equal byte for byte."""

    def verify(self) -> str:
        """Verify the state by the compiler and return the verifier's name; "" if there is no verifier.

        Raises:
            CompilerCrash: the state is broken.
        """
        return ""

    def sites(self) -> tuple[str, ...]:
        """Return the names of the places where an action may apply, beside the whole program."""
        return ()

    def identities(self) -> dict[str, str]:
        """Return the sites' identities, by name: equal for sites at which all actions have the same effect.

        Hashes may collide, so a search measures one site's result at another site before it is kept.
        """
        return {}

    def site_costs(self, objective: str, priced: bool = True) -> dict[str, float]:
        """Return each site's own cost; {} if sites have no costs of their own.

        If these costs add up to the program's, each site can be decided independently. With `priced`, they
        include the prices of shares under program-wide limits; see `prices`.
        """
        formula = parse_objective(objective)
        by_name = {name: self.costs(name) for name in formula.exponents}
        costs = next(iter(by_name.values()))
        if formula.is_weighted:
            sites = [site for site in costs if all(site in known for known in by_name.values())]
            costs = {site: formula.cost(lambda name, at=site: by_name[name][at]) for site in sites}  # type: ignore[misc]
        for limit in formula.limits:
            if priced or limit.objective not in self.prices:
                shares = self.costs(limit.objective)
                costs = {
                    site: self._limited(cost, limit, shares.get(site, 0.0), site)
                    for site, cost in costs.items()
                }
        return costs

    def room(self, objective: str) -> float:
        """Return the slack left under the program-wide limits; infinity if there are no such limits.

        The unit is that of the minimised objective: shares times their price. Below 0, a limit is exceeded.
        """
        room = math.inf
        for limit in parse_objective(objective).limits:
            if limit.objective in self.prices:
                shares = sum(self.costs(limit.objective).values())
                left = shares * (limit.most / max(self.cost(limit.objective), 1e-9) - 1)
                room = min(room, self.prices[limit.objective] * left)
        return room

    def _limited(self, cost: float, limit: Limit, measured: float, site: str) -> float:
        """Return a cost plus a site's priced share under a program-wide limit, or with a limit's penalty."""
        priced = site != WHOLE_PROGRAM and limit.objective in self.prices
        return cost + self.prices[limit.objective] * measured if priced else limit.cost(cost, measured)

    def alternatives(self) -> Trace:
        """Return entries that change the compiler's own answers, the most promising first; () if unknown."""
        return ()

    def part(self, site: str, objective: str) -> Part | None:
        """Return a site as an independent program, to measure an objective; None if that is impossible."""
        return None

    def object_code(self) -> bytes:
        """Return the state as an object file, for linking and running; InputError: the task makes none."""
        raise InputError(f"{type(self).__name__} does not make object files, so its programs cannot be run")

    def fork(self) -> Session:
        """Return a second session in the same state; by default a new one that replays the trace."""
        if self._reopen is None:
            raise NotImplementedError(f"{type(self).__name__} neither overrides fork() nor can be reopened")
        copy = self._reopen()
        copy.replay(self.trace)
        return copy

    def opened_by(self, opener: Callable[[Program], Session]) -> Session:
        """Return the same program, opened in another way; only a sandbox has its program at hand."""
        raise NotImplementedError(f"{type(self).__name__} cannot open its program in another way")

    def close(self) -> None:  # noqa: B027 - most sessions hold nothing beyond memory
        """Release the session's resources."""

    def replay(self, trace: Iterable[str]) -> Trace:
        """Apply the entries of a trace in order; return those for which a change was reported."""
        return tuple(text for text in trace if self.apply_entry(text))

    def apply_entry(self, text: str) -> bool:
        """Apply an entry of a trace; return whether a change was reported.

        Raises:
            CompilerCrash: the compiler crashes or gives up.
            IllegalAction: the action does not apply here; if there is no such site, the message names near
                ones.
            UnknownName: there is no such action.
        """
        site, action = split_entry(text)
        try:
            return self.apply(self.index(action), site)
        except IllegalAction:
            if site and site not in (sites := self.sites()):
                near = nearest(site, sites)
                raise IllegalAction(f"{text!r}: the program has no {site!r}; {near}") from None
            raise

    def index(self, action: str) -> int:
        """Return an action's index, or raise UnknownName."""
        try:
            return self._index[action]
        except KeyError:
            raise UnknownName.among("action", action, self.actions) from None

    def begin_fork(
        self, view: View, baselines: Sequence[Callable[[], float]] = ()
    ) -> Callable[[], tuple[Session, Start]]:
        """Return a function that forks this session and starts the copy; a sandbox begins at once."""

        def finish() -> tuple[Session, Start]:
            copy = self.fork()
            return copy, make_start(copy, view, baselines)

        return finish

    def question(self) -> str:
        """Return the site that the compiler asks about; "" if it asks nothing.

        While there is a question, an action on the whole program that is legal at that site answers it. The
        trace's entry then names the site. Each open question is one of `sites()`. The compiler
        itself answers the questions that are left open, so any state can be measured.
        """
        return ""

    def answer(self, make: MakeAnswerer) -> Trace:
        """Answer all open questions by a policy, in the compiler's order, and return the entries."""
        answerer, entries = made(make), list[str]()
        while self.question():
            observed = tuple(self.observe(name) for name in answerer.observations)
            self.apply(int(answerer(observed, self.legal())))
            entries.append(self.trace[-1])
        return tuple(entries)

    def begin_step(self, action: int, site: str, view: View, sites: tuple[str, ...]) -> Callable[[], Step]:
        """Return a function that makes a step: see `make_step`; a sandbox begins the step at once."""
        return partial(make_step, self, action, site, view, sites)

    def mask(self, sites: Sequence[str]) -> Mask:
        """Return the masks of legal actions at `sites`, concatenated: bool[len(sites) * n]."""
        return np.concatenate([self.legal(site) for site in sites])

    def check_legal(self, action: int, site: str) -> None:
        """Raise IllegalAction, with the first legal actions, unless the action applies now."""
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


def make_start(session: Session, view: View, baselines: Sequence[Callable[[], float]] = ()) -> Start:
    """Find the first sites, observe, measure, find the legal actions, and call `baselines`."""
    sites = first_places(session, view.site_count)
    observed = tuple(session.observe(name) for name in view.observations)
    costs = tuple(baseline() for baseline in baselines)
    cost = math.nan if view.objective is None else session.measure(view.objective)
    return Start(sites, observed, cost, session.mask(sites), costs, session.question())


def make_step(session: Session, action: int, site: str, view: View, sites: tuple[str, ...]) -> Step:
    """Apply an action at a site, observe, measure and find the legal actions.

    `sites` are those of the last start or step, the whole program first.
    """
    changed, text = session.apply(action, site), session.trace[-1]
    cost = None if view.objective is None else session.measure(view.objective)
    sites, mask = places(session, sites, view.site_count)
    observed = tuple(session.observe(name) for name in view.observations)
    return Step(changed, observed, cost, mask, sites, text, session.question())


def first_places(session: Session, count: int) -> tuple[str, ...]:
    """Return the whole program and the first of its sites, at most `count`."""
    return (WHOLE_PROGRAM, *(session.sites()[:count] if count else ()))


def places(session: Session, sites: tuple[str, ...], count: int) -> tuple[tuple[str, ...], Mask]:
    """Return the sites after a step, each in its slot as before (see Step), and the legal actions there."""
    mask = session.mask(sites)
    if not count or not _has_room(sites, mask, count):
        return sites, mask
    found = session.sites()
    there, new = {WHOLE_PROGRAM, *found}, iter([site for site in found if site not in sites])
    kept = [site if site in there else next(new, site) for site in sites]
    now = (*kept, *islice(new, 1 + count - len(kept)))
    return now, mask if now == sites else session.mask(now)


def _has_room(sites: tuple[str, ...], mask: Mask, count: int) -> bool:
    """Return whether a new site would get a slot: one is unused, or has no legal action."""
    if len(sites) <= count:
        return True
    # Bytes are searched five times as fast as by an array's any() and all().
    length, legal = len(mask) // len(sites), mask.tobytes()
    return any(1 not in legal[i : i + length] for i in range(length, len(mask), length))
