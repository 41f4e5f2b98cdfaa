"""An environment's operations on a session, each in one call: begin, step, answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from burnish.core.errors import IllegalAction, nearest
from burnish.core.trace import WHOLE_PROGRAM, Trace, split_entry
from burnish.core.view import Mask, Observed, Start, Step, View, following, has_room

if TYPE_CHECKING:
    from burnish.core.session import Session


class Answerer(Protocol):
    """A policy that answers the compiler's questions."""

    @property
    def observations(self) -> tuple[str, ...]:
        """The task's observations that the policy reads."""

    def __call__(self, observed: tuple[Observed, ...], legal: Mask) -> int:
        """Return an action that is legal at the question; `legal` is bool[n]."""


MakeAnswerer = Callable[[], Answerer]
"""Makes an Answerer; called once, in the process of the session. The value is a function of a module, or a
frozen dataclass with `__call__`, because it is pickled, hashed and compared."""


def begin(session: Session, view: View, baselines: Sequence[Callable[[], float]] = ()) -> Start:
    """See Session.start."""
    sites = first_places(session, view.site_count)
    observed = tuple(session.observe(name) for name in view.observations)
    costs = tuple(baseline() for baseline in baselines)
    cost = math.nan if view.objective is None else session.measure(view.objective)
    return Start(sites, observed, cost, session.mask(sites), costs, session.question())


def step(session: Session, action: int, site: str, view: View, sites: tuple[str, ...]) -> Step:
    """See Session.step."""
    changed, text = session.act(action, site)
    cost = None if view.objective is None else session.measure(view.objective)
    sites, mask = places(session, sites, view.site_count)
    observed = tuple(session.observe(name) for name in view.observations)
    return Step(changed, observed, cost, mask, sites, text, session.question())


def apply_entry(session: Session, text: str) -> bool:
    """Apply an entry of a trace; return whether a change was reported.

    Raises:
        CompilerCrash: the compiler crashes or gives up.
        IllegalAction: the action does not apply here; if there is no such site, the message names near ones.
        UnknownName: there is no such action.
    """
    site, action = split_entry(text)
    try:
        return session.apply(session.index(action), site)
    except IllegalAction:
        if site and site not in (sites := session.sites()):
            raise IllegalAction(f"{text!r}: the program has no {site!r}; {nearest(site, sites)}") from None
        raise


def first_places(session: Session, count: int) -> tuple[str, ...]:
    """Return the whole program and its first sites, at most `count`."""
    return (WHOLE_PROGRAM, *(session.sites()[:count] if count else ()))


def places(session: Session, sites: tuple[str, ...], count: int) -> tuple[tuple[str, ...], Mask]:
    """Return the observed sites after a step, each in its slot as before, and the legal actions there.

    Args:
        session: The session after the step.
        sites: The sites of the last start or step, the whole program first.
        count: The most sites beside the whole program.
    """
    mask = session.mask(sites)
    if not count or not has_room(sites, mask, count):
        return sites, mask
    now = following(sites, session.sites(), count)
    return now, mask if now == sites else session.mask(now)


def answer(session: Session, make: MakeAnswerer) -> Trace:
    """See Session.answer."""
    answerer, entries = made(make), list[str]()
    while session.question():
        observed = tuple(session.observe(name) for name in answerer.observations)
        entries.append(session.act(int(answerer(observed, session.legal())))[1])
    return tuple(entries)


@lru_cache(maxsize=4)
def made(make: MakeAnswerer) -> Answerer:
    """Return the Answerer that `make` makes; the last four are cached."""
    return make()
