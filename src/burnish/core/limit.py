"""Objectives within limits: `loaded-bytes while slowdown<=1.05 and code-growth<=1`.

Within the limits, a state's cost is exactly the objective's. A state above a limit costs more than double,
growing with the excess. So it is never better in practice, and the cost still leads a search back.
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
    """The upper bound of another objective."""

    objective: str
    most: float

    def cost(self, cost: float, measured: float) -> float:
        """Return `cost`, penalised if the limited objective's value, `measured`, is above the limit."""
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
        InputError: the limits are malformed.
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
    """Read the largest permitted ratio from a growth: '5%' is 1.05, '0%' is 1, 'none' is None (no limit).

    Raises:
        InputError: the text has another form.
    """
    if text == "none":
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?%", text.strip())
    if not found:
        raise InputError(f"{text!r}: expected per cent, such as 5%, or none")
    return 1 + float(found[1]) / 100


def file_name(text: str) -> str:
    """Return an objective's text as a part of a file name."""
    return re.sub(r"[^\w.^*-]+", "-", text)


def limited(text: str, base: Objective, known: Mapping[str, Objective]) -> Objective:
    """Return an objective within limits as an Objective.

    Args:
        text: The text with the limits.
        base: The minimised objective.
        known: The objectives that may be limited, by name.

    Raises:
        InputError: the limits are malformed.
        UnknownName: a limited objective is unknown.
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
