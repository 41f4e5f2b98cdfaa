"""Objectives within limits: `loaded-bytes while slowdown<=1.05 and code-growth<=1`.

The cost of a state within the limits is the objective's own, exactly. What exceeds one counts more than
double, and more the further it is off: so it is never better in practice, and a search still sees which way
is back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from burnish.core.errors import InputError, UnknownName
from burnish.core.objective import Objective

WHILE, AND = " while ", " and "
FORM = (
    "expected an objective, 'while', another one, '<=' and a number: 'loaded-bytes while slowdown<=1.05'; "
    "more of them after 'and'"
)
_LIMIT = re.compile(r"\s*([\w-]+)\s*<=\s*([0-9.e+-]+)\s*")


@dataclass(frozen=True)
class Limit:
    """The most that another objective may come to."""

    objective: str
    most: float

    def cost(self, cost: float, measured: float) -> float:
        """Return what a state counts that costs `cost` and whose limited objective is `measured`."""
        return cost if measured <= self.most else 2 * cost * (measured / self.most) ** 2


def within(objective: str, *limits: Limit) -> str:
    """Return the text of an objective within limits."""
    texts = [f"{limit.objective}<={limit.most:g}" for limit in limits]
    return f"{objective}{WHILE}{AND.join(texts)}" if texts else objective


def unlimited(text: str) -> str:
    """Return the objective without its limits."""
    return text.partition(WHILE)[0].strip()


def limits_of(text: str) -> tuple[Limit, ...]:
    """Return the limits of an objective's text.

    Raises:
        InputError: they are not written as such.
    """
    _, found, rest = text.partition(WHILE)
    return tuple(_limit(part, text) for part in rest.split(AND)) if found else ()


def _limit(part: str, text: str) -> Limit:
    match = _LIMIT.fullmatch(part)
    try:
        most = float(match[2]) if match else 0.0
    except ValueError:
        most = 0.0
    if not match or not most > 0:
        raise InputError(f"objective {text!r}: {FORM}")
    return Limit(match[1], most)


def parse_most(text: str) -> float | None:
    """Read by how much a ratio may exceed 1: '5%' is 1.05, '0%' is 1, 'none' is no limit.

    Raises:
        InputError: it is none of these.
    """
    if text == "none":
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?%", text.strip())
    if not found:
        raise InputError(f"{text!r}: expected per cent, such as 5%, or none")
    return 1 + float(found[1]) / 100


def file_name(text: str) -> str:
    """Return an objective's text as a part of a file's name."""
    return re.sub(r"[^\w.^*-]+", "-", text)


def limited(text: str, base: Objective, known: Mapping[str, Objective]) -> Objective:
    """Return an objective within limits as one of its own.

    Args:
        text: As it is written.
        base: What is minimised.
        known: What may be limited.

    Raises:
        InputError: it is not written as one.
        UnknownName: what is limited is not known.
    """
    limits = limits_of(text)
    for limit in limits:
        if limit.objective not in known:
            raise UnknownName.among("objective", limit.objective, known)
    every = (base, *(known[limit.objective] for limit in limits))
    above = " or ".join(f"{limit.objective} is above {limit.most:g}" for limit in limits)
    return replace(
        base,
        name=within(base.name, *limits),
        description=f"{base.description}; more than double where {above}",
        dense=all(one.dense for one in every),
        by_site=all(one.by_site for one in every),
        noisy=any(one.noisy for one in every),
        needs_workload=any(one.needs_workload for one in every),
    )
