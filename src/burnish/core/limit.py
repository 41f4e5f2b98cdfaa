"""Objectives within a limit: `loaded-bytes while slowdown<=1.05`.

The cost of a state within the limit is the objective's own, exactly. What exceeds it counts more than double,
and more the further it is off: so it is never better in practice, and a search still sees which way is back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from burnish.core.errors import InputError, UnknownName
from burnish.core.objective import Objective

WHILE = " while "
FORM = "expected an objective, 'while', another one, '<=' and a number: 'loaded-bytes while slowdown<=1.05'"
_LIMIT = re.compile(r"\s*([\w-]+)\s*<=\s*([0-9.e+-]+)\s*")


@dataclass(frozen=True)
class Limit:
    """The most that another objective may come to."""

    objective: str
    most: float

    def cost(self, cost: float, measured: float) -> float:
        """Return what a state counts that costs `cost` and whose limited objective is `measured`."""
        return cost if measured <= self.most else 2 * cost * (measured / self.most) ** 2


def within(objective: str, limit: Limit | None) -> str:
    """Return the text of an objective within a limit."""
    return objective if limit is None else f"{objective}{WHILE}{limit.objective}<={limit.most:g}"


def unlimited(text: str) -> str:
    """Return the objective without its limit."""
    return text.partition(WHILE)[0].strip()


def limit_of(text: str) -> Limit | None:
    """Return the limit of an objective's text; None where there is none.

    Raises:
        InputError: it is not written as one.
    """
    _, found, rest = text.partition(WHILE)
    if not found:
        return None
    match = _LIMIT.fullmatch(rest)
    try:
        most = float(match[2]) if match else 0.0
    except ValueError:
        most = 0.0
    if not match or not most > 0:
        raise InputError(f"objective {text!r}: {FORM}")
    return Limit(match[1], most)


def file_name(text: str) -> str:
    """Return an objective's text as a part of a file's name."""
    return re.sub(r"[^\w.^*-]+", "-", text)


def limited(text: str, base: Objective, known: Mapping[str, Objective]) -> Objective:
    """Return an objective within a limit as one of its own.

    Args:
        text: As it is written.
        base: What is minimised.
        known: What may be limited.

    Raises:
        InputError: it is not written as one.
        UnknownName: what is limited is not known.
    """
    limit = limit_of(text)
    assert limit
    if limit.objective not in known:
        raise UnknownName.among("objective", limit.objective, known)
    other = known[limit.objective]
    return replace(
        base,
        name=within(base.name, limit),
        description=f"{base.description}; more than double where {other.name} is above {limit.most:g}",
        dense=base.dense and other.dense,
        by_site=base.by_site and other.by_site,
        noisy=base.noisy or other.noisy,
        needs_workload=base.needs_workload or other.needs_workload,
    )
