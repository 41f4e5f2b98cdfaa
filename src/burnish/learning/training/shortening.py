"""Shortening of traces under a noisy objective.

`burnish.core.reduce.shorten` compares single costs. Under noise it drops entries that gain less than the
noise, and keeps useless ones. Here a shorter trace and the whole one are measured alternately, and their
least costs are compared, because other load on the machine makes a program slower, never faster. On a busy
core the ratio of the minima of five measurements varied by 1.5 %, the ratio of their medians by 30 %.
"""

from __future__ import annotations

import math

from burnish.core.errors import CompilerCrash
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.core.walk import after

TURNS = 5
SAME = 1.01  # a shorter trace is as good up to this ratio of its least cost to the whole trace's
FAR = 3.0  # above this ratio a shorter trace is rejected without further turns


def shorten_noisy(root: Session, trace: Trace, objective: str) -> tuple[Trace, float]:
    """Remove the entries without which a trace costs no more, the last first: (trace, cost).

    Every shorter trace is compared with the whole one, not with the previous one, so small losses do not add
    up. The returned trace is legal: entries of `trace` that are illegal at their position are dropped.

    Args:
        root: The state in which the trace begins, with nothing applied yet.
        trace: The trace to shorten.
        objective: A noisy objective.

    Returns:
        The shorter trace, and the least of its measured costs.

    Raises:
        CompilerCrash: the compiler crashes on the whole trace.
    """
    with after(root, trace, skip_illegal=True) as whole:
        kept = tuple(whole.trace)
        cost = min(whole.measure(objective) for _ in range(TURNS))
        for position in reversed(range(len(kept))):
            try:
                with after(root, kept[:position] + kept[position + 1 :], skip_illegal=True) as part:
                    found = _cost_if_same(whole, part, objective)
                    if found is not None:
                        kept, cost = tuple(part.trace), found
            except CompilerCrash:
                continue  # the entry is needed
    return kept, cost


def _cost_if_same(whole: Session, part: Session, objective: str) -> float | None:
    """Return the least cost of a part, or None if that is more than SAME times the whole's."""
    of_whole = of_part = math.inf
    for _ in range(TURNS):
        of_whole = min(of_whole, whole.measure(objective))
        of_part = min(of_part, part.measure(objective))
        if of_part > FAR * of_whole:
            return None
    return of_part if of_part <= SAME * of_whole else None
