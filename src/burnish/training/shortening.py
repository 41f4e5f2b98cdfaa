"""Shorter traces where every measurement is another number.

`burnish.core.reduce.shorten` compares single costs. Of a noisy objective, that leaves out entries that gain
less than the noise, and keeps what was measured in a bad moment. Here a shorter trace and the whole one
are measured in turns, so that what else the machine does meets both.
"""

from __future__ import annotations

import statistics

from burnish.core.errors import CompilerCrash
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.core.walk import after

TURNS = 5
SAME = 1.01  # the median of cost over whole cost: up to it a shorter trace is as good
FAR = 1.3  # from it on one turn tells


def shorten_noisy(root: Session, trace: Trace, objective: str) -> tuple[Trace, float]:
    """Leave out the entries without which a trace costs no more, the last first: (trace, cost).

    Every shorter trace is compared with the whole one, not with the one before: small losses do not add up.
    What is returned is legal, also where the trace had entries that are illegal where they come.

    Args:
        root: Where the trace begins, with nothing applied yet.
        trace: What to shorten.
        objective: A noisy one.

    Returns:
        The shorter trace, and the median of its costs.

    Raises:
        CompilerCrash: the compiler does not survive the whole trace.
    """
    with after(root, trace, skip_illegal=True) as whole:
        kept = tuple(whole.trace)
        cost = statistics.median([whole.measure(objective) for _ in range(TURNS)])
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
    """Return the median cost of a part if it is no worse than the whole; None if it is."""
    costs: list[float] = []
    ratios: list[float] = []
    while len(costs) < TURNS and not (ratios and ratios[0] > FAR):
        of_whole = whole.measure(objective)
        costs.append(part.measure(objective))
        ratios.append(costs[-1] / of_whole)
    return statistics.median(costs) if statistics.median(ratios) <= SAME else None
