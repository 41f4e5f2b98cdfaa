"""Shorter traces where every measurement is another number.

`burnish.core.reduce.shorten` compares single costs: with noise, entries that are worth less than that get
lost, and others stay that are worth nothing. Here a shorter trace and the whole one are measured in turns,
and the least costs are compared: what else a machine does makes a program slower, never faster. On a busy
core the ratio of the least of five repeated within 1.5 %, that of the medians within 30 %.
"""

from __future__ import annotations

import math

from burnish.core.errors import CompilerCrash
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.core.walk import after

TURNS = 5
SAME = 1.01  # the least cost over that of the whole trace: up to it a shorter trace is as good
FAR = 3.0  # from it on the turns so far tell


def shorten_noisy(root: Session, trace: Trace, objective: str) -> tuple[Trace, float]:
    """Leave out the entries without which a trace costs no more, the last first: (trace, cost).

    Every shorter trace is compared with the whole one, not with the one before: small losses do not add up.
    What is returned is legal, also where the trace had entries that are illegal where they come.

    Args:
        root: Where the trace begins, with nothing applied yet.
        trace: What to shorten.
        objective: A noisy one.

    Returns:
        The shorter trace, and the least of its costs.

    Raises:
        CompilerCrash: the compiler does not survive the whole trace.
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
                continue  # so the entry is needed
    return kept, cost


def _cost_if_same(whole: Session, part: Session, objective: str) -> float | None:
    """Return the least cost of a part if it is no worse than the whole; None if it is."""
    of_whole = of_part = math.inf
    for _ in range(TURNS):
        of_whole = min(of_whole, whole.measure(objective))
        of_part = min(of_part, part.measure(objective))
        if of_part > FAR * of_whole:
            return None
    return of_part if of_part <= SAME * of_whole else None
