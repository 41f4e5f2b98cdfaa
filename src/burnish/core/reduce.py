"""Shorter traces that still do what the whole one does.

`reduce_trace` is delta debugging, for traces of which few entries matter (Zeller, Hildebrandt: Simplifying
and Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002: `ddmin`). `shorten` goes through a trace once, for
those of which most entries matter, as a search finds them.
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
    """A part of a trace, its entries in their order."""

    trace: Trace
    tests: int  # how many different traces were tried
    minimal: bool  # no entry can be left out; False where the time ran out before that was known


def reduce_trace(trace: Trace, still_fails: Predicate, *, seconds: float = math.inf) -> Reduced:
    """Leave out as many entries as ddmin can, until none can be left out by itself (1-minimal).

    Nothing is assumed of the predicate: where leaving out more makes it hold again, the result is
    still one for which it holds, and 1-minimal, but there may be shorter ones. No trace is tried twice.

    Args:
        trace: What fails.
        still_fails: Whether a trace, a subsequence of it, fails.
        seconds: After this time no further trace is tried.

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
                if time.monotonic() >= end:
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
    """Leave out the entries without which a trace costs no more, the last first: (trace, cost)."""
    best = cost(trace)
    for position in reversed(range(len(trace))):
        shorter = (*trace[:position], *trace[position + 1 :])
        if (found := cost(shorter)) <= best:
            trace, best = shorter, found
    return trace, best


def _candidates(kept: Trace, parts: int) -> Iterator[tuple[Trace, int]]:
    """Yield what to try, and how many parts to make of it: nothing, each part alone, all but each part."""
    yield (), 0
    if len(kept) == 1:  # its only part is itself
        return
    cuts = [len(kept) * i // parts for i in range(parts + 1)]
    pieces = list(itertools.pairwise(cuts))
    for first, last in pieces:
        yield kept[first:last], 2
    for first, last in pieces:
        yield kept[:first] + kept[last:], max(parts - 1, 2)
