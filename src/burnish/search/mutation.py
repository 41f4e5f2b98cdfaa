"""Variations of traces: change a few entries, cross two traces, draw suffixes from a pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from burnish.core.action import Action
from burnish.core.trace import Trace

EDITS = ("insert", "insert", "remove", "replace", "move")
SUFFIX_EDITS = ("insert", "remove", "replace")


def mutate(
    trace: Trace,
    draw: Callable[[Sequence[str]], str],
    rng: np.random.Generator,
    *,
    longest: int,
    most: int = 3,
    by_kind: Mapping[str, Sequence[str]] | None = None,
) -> Trace:
    """Insert, remove, replace or move an entry; one to `most` times.

    `draw` returns an entry that may follow the given ones. At length `longest`, an insertion becomes a
    removal. With the actions of each kind, a change may also replace an action's parameters.
    """
    edits = EDITS if by_kind is None else (*EDITS, "parameters")
    entries = list(trace)
    for _ in range(int(rng.integers(1, most + 1))):
        edit = rng.choice(edits) if entries else "insert"
        if edit == "insert" and len(entries) < longest:
            at = int(rng.integers(len(entries) + 1))
            entries.insert(at, draw(entries[:at]))
        elif edit == "replace":
            at = int(rng.integers(len(entries)))
            entries[at] = draw(entries[:at])
        elif edit == "parameters" and by_kind is not None:
            at = int(rng.integers(len(entries)))
            alike = by_kind[Action.parse(entries[at]).kind]
            entries[at] = alike[int(rng.integers(len(alike)))]
        else:
            entry = entries.pop(int(rng.integers(len(entries))))
            if edit == "move":
                entries.insert(int(rng.integers(len(entries) + 1)), entry)
    return tuple(entries)


def cross(parent: Trace, other: Trace, rng: np.random.Generator) -> Trace:
    """Join a random beginning of one trace and a random end of the other."""
    return parent[: int(rng.integers(len(parent) + 1))] + other[int(rng.integers(len(other) + 1)) :]


def draw_suffix(
    actions: Sequence[str],
    pool: Sequence[Trace],
    rng: np.random.Generator,
    *,
    longest: int,
    fresh: float = 0.4,
    join: bool = False,
) -> Trace:
    """Draw a suffix: a random one, or one of a pool with an entry inserted, removed or replaced.

    The pool has suffixes that gained before. A share of `fresh` is random, with at most `longest` entries.
    With `join`, one suffix of the pool may be appended to another.
    """
    if not pool or rng.random() < fresh:
        return tuple(actions[i] for i in rng.integers(len(actions), size=int(rng.integers(1, longest + 1))))
    entries = list(pool[int(rng.integers(len(pool)))])
    at = int(rng.integers(len(entries) + 1))
    random = actions[int(rng.integers(len(actions)))]
    match rng.choice((*SUFFIX_EDITS, "join") if join else SUFFIX_EDITS):
        case "insert":
            entries.insert(at, random)
        case "remove" if len(entries) > 1:
            del entries[at - 1]
        case "join":
            entries += pool[int(rng.integers(len(pool)))]
        case _:
            entries[at - 1] = random
    return tuple(entries)
