"""Objectives and observations of a task, and the texts of combined objectives.

`text-bytes^0.7*seconds^0.3` is the weighted geometric mean of costs, so units do not matter. Its log reward
is the weighted sum of log rewards: 0.7 log(bytes before / after) + 0.3 log(seconds before / after).

`loaded-bytes while slowdown<=1.05 and code-growth<=1` is an objective within limits. Within the limits, a
state's cost is exactly the objective's. A state above a limit costs more than double, growing with the
excess. So such a state is never better in practice, and its cost still leads a search back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError, UnknownName

WHILE, AND = " while ", " and "
WEIGHTED_FORM = "expected objectives with exponents that add up to 1, such as 'bytes^0.7*seconds^0.3'"
LIMITED_FORM = (
    "expected an objective, 'while', another one, '<=' and a number: 'loaded-bytes while slowdown<=1.05'; "
    "join several limits with 'and'"
)
_LIMIT = re.compile(r"\s*([\w-]+)\s*<=\s*([0-9.e+-]+)\s*")


@dataclass(frozen=True)
class Objective:
    """A cost of a state: a positive number with a unit, smaller is better."""

    name: str
    unit: str
    description: str
    dense: bool = True  # cheap enough to measure after every step
    by_site: bool = True  # sites have costs of their own
    noisy: bool = False  # differs between measurements; comparisons need confidence intervals
    needs_workload: bool = False  # only for programs that can be run
    heading: str = ""  # in narrow tables; the unit by default

    @property
    def formula(self) -> Formula:
        """The objective's name, parsed into objectives and limits."""
        return parse_objective(self.name)

    @property
    def exact(self) -> bool:
        """True if every program has this cost, and measuring again gives the same number."""
        return not (self.noisy or self.needs_workload)


@dataclass(frozen=True)
class Limit:
    """The upper bound of another objective."""

    objective: str
    most: float

    def cost(self, cost: float, measured: float) -> float:
        """Return `cost`, penalised if the limited objective's value, `measured`, is above the limit."""
        return cost if measured <= self.most else 2 * cost * (measured / self.most) ** 2


@dataclass(frozen=True)
class Formula:
    """The text of an objective, parsed."""

    exponents: Mapping[str, float]  # by objective; the only objective has 1
    limits: tuple[Limit, ...] = ()

    @property
    def is_weighted(self) -> bool:
        """True if the formula combines several objectives, limits aside."""
        return len(self.exponents) > 1

    @property
    def names(self) -> frozenset[str]:
        """The objectives to measure, those of the limits included."""
        return frozenset((*self.exponents, *(limit.objective for limit in self.limits)))

    @cached_property
    def unlimited(self) -> str:
        """The formula's text without limits."""
        if not self.is_weighted:
            return next(iter(self.exponents))
        return "*".join(f"{name}^{exponent!r}" for name, exponent in self.exponents.items())

    @cached_property
    def text(self) -> str:
        """The formula's text in its normal form."""
        limits = AND.join(f"{limit.objective}<={limit.most:g}" for limit in self.limits)
        return f"{self.unlimited}{WHILE}{limits}" if limits else self.unlimited

    def cost(self, measure: Callable[[str], float]) -> float:
        """Return the cost without limits, from a function that measures each objective."""
        if not self.is_weighted:
            return measure(self.unlimited)
        return math.prod(math.pow(measure(name), exponent) for name, exponent in self.exponents.items())

    def objective(self, known: Mapping[str, Objective]) -> Objective:
        """Return the formula as an Objective; a single one without limits is the task's own.

        Raises:
            UnknownName: an objective is not among `known`.
        """
        for name in (*self.exponents, *(limit.objective for limit in self.limits)):
            if name not in known:
                raise UnknownName.among("objective", name, known)
        parts = [known[name] for name in self.exponents]
        goal = parts[0]
        if self.is_weighted:
            units = (
                f"{part.unit}^{exponent:g}"
                for part, exponent in zip(parts, self.exponents.values(), strict=True)
            )
            described = "weighted geometric mean of " + ", ".join(part.name for part in parts)
            goal = Objective(self.unlimited, " * ".join(units), described)
        elif not self.limits:
            return goal
        if self.limits:
            above = " or ".join(f"{limit.objective} is above {limit.most:g}" for limit in self.limits)
            goal = replace(goal, description=f"{goal.description}; more than doubled if {above}")
        parts += [known[limit.objective] for limit in self.limits]
        return replace(
            goal,
            name=self.text,
            dense=all(part.dense for part in parts),
            by_site=all(part.by_site for part in parts),
            noisy=any(part.noisy for part in parts),
            needs_workload=any(part.needs_workload for part in parts),
        )


@lru_cache(maxsize=256)  # sessions measure by the text, at every step
def parse_objective(text: str) -> Formula:
    """Parse the text of an objective.

    Raises:
        InputError: the text is malformed.
    """
    minimised, found, limits = text.partition(WHILE)
    exponents = _exponents(minimised.strip())
    return Formula(exponents, tuple(_limit(part, text) for part in limits.split(AND)) if found else ())


def _exponents(text: str) -> dict[str, float]:
    if "*" not in text and "^" not in text:
        return {text: 1.0}
    exponents: dict[str, float] = {}
    for part in text.replace(" ", "").split("*"):
        name, _, number = part.partition("^")
        try:
            exponent = float(number)
        except ValueError:
            raise InputError(f"objective {text!r}: {part!r} has no exponent; {WEIGHTED_FORM}") from None
        if not name or name in exponents or not 0 < exponent < math.inf:
            raise InputError(
                f"objective {text!r}: {part!r} is empty, repeated or not above 0; {WEIGHTED_FORM}"
            )
        exponents[name] = exponent
    if not math.isclose(total := sum(exponents.values()), 1, abs_tol=1e-6):
        raise InputError(f"objective {text!r}: the exponents add up to {total:g}; {WEIGHTED_FORM}")
    return exponents


def _limit(part: str, text: str) -> Limit:
    match = _LIMIT.fullmatch(part)
    try:
        most = float(match[2]) if match else 0.0
    except ValueError:
        most = 0.0
    if not match or not most > 0:
        raise InputError(f"objective {text!r}: {LIMITED_FORM}")
    return Limit(match[1], most)


def parse_growth(text: str) -> float | None:
    """Read the largest permitted ratio from a growth: '5%' is 1.05, '0%' is 1, 'none' is None (no limit).

    Raises:
        InputError: the text has another form.
    """
    if text == "none":
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?%", text.strip())
    if not found:
        raise InputError(f"{text!r}: expected a percentage, such as 5%, or none")
    return 1 + float(found[1]) / 100


class GraphArrays(NamedTuple):
    """The value of a graph observation: a directed multigraph with typed edges."""

    nodes: NDArray[np.int64]  # [N, C]: a row of the observation's columns for each node
    edges: NDArray[np.int64]  # [E, 4]: source and target (rows of nodes), flow, position


@dataclass(frozen=True)
class Observation:
    """One representation of a state.

    An `array` has `shape`. A `sequence` is an array of any length, and `shape` is that of its elements. A
    `graph` is GraphArrays, and `shape` is that of a node's row. `low`, `high` and `columns` describe the
    array, an element or a node's row. The other kinds are `text` and `bytes`. A graph may name its `flows`,
    the edges' last column (`position`), and a text observation with a line for each node (`texts`).
    """

    name: str
    description: str
    kind: Literal["array", "sequence", "graph", "text", "bytes"] = "array"
    shape: tuple[int, ...] = ()
    dtype: str = "int64"
    low: float = 0
    high: float = float("inf")
    columns: Sequence[str] = field(default=(), repr=False)
    noisy: bool = False  # measured: differs between observations
    flows: Sequence[str] = field(default=(), repr=False)
    position: str = "position"
    texts: str = ""
