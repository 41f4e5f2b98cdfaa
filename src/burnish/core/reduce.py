"""Reduction of traces to fewer entries with the same effect.

`reduce_trace` is delta debugging, for traces with few entries that matter (Zeller, Hildebrandt: Simplifying
and Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002: `ddmin`). `shorten` goes through a trace once; it
is for traces in which most entries matter, such as the results of searches.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from burnish.core.errors import InputError
from burnish.core.trace import Trace

Predicate = Callable[[Trace], bool]


@dataclass(frozen=True)
class Reduced:
    """A subsequence of a trace."""

    trace: Trace
    tests: int  # number of different traces that were tried
    minimal: bool  # no entry can be left out; False if the time ran out before that was known


def reduce_trace(
    trace: Trace,
    still_fails: Predicate,
    *,
    seconds: float = math.inf,
    stopped: Callable[[], bool] = lambda: False,
) -> Reduced:
    """Leave out entries by ddmin, until no single entry can be left out (1-minimal).

    The predicate need not be monotonic. If it is not, the result still fails and is 1-minimal, but shorter
    failing traces may exist. No trace is tried twice.

    Args:
        trace: The trace that fails.
        still_fails: Returns whether a subsequence of the trace fails.
        seconds: After this time no further trace is tried.
        stopped: Returns whether to end early, too.

    Raises:
        InputError: the whole trace does not fail.
    """
    end = time.monotonic() + seconds
    seen = {trace: still_fails(trace)}
    if not seen[trace]:
        raise InputError(f"nothing to reduce: the whole trace of {len(trace)} entries does not fail")
    kept, parts = trace, min(2, len(trace))
    while kept:
        for candidate, then in _candidates(kept, parts):
            if candidate not in seen:
                if time.monotonic() >= end or stopped():
                    return Reduced(kept, len(seen), minimal=False)
                seen[candidate] = still_fails(candidate)
            if seen[candidate]:
                kept, parts = candidate, min(then, len(candidate))
                break
        else:
            if parts == len(kept):
                break
            parts = min(2 * parts, len(kept))
    return Reduced(kept, len(seen), minimal=True)


def shorten(trace: Trace, cost: Callable[[Trace], float]) -> tuple[Trace, float]:
    """Leave out entries that do not lower the cost, from last to first: (trace, cost)."""
    best = cost(trace)
    for position in reversed(range(len(trace))):
        shorter = (*trace[:position], *trace[position + 1 :])
        if (found := cost(shorter)) <= best:
            trace, best = shorter, found
    return trace, best


def _candidates(kept: Trace, parts: int) -> Iterator[tuple[Trace, int]]:
    """Yield candidates, each with its next number of parts: nothing, each part, all but each part."""
    yield (), 0
    if len(kept) == 1:  # its only part is itself
        return
    cuts = [len(kept) * i // parts for i in range(parts + 1)]
    pieces = list(itertools.pairwise(cuts))
    for first, last in pieces:
        yield kept[first:last], 2
    for first, last in pieces:
        yield kept[:first] + kept[last:], max(parts - 1, 2)
