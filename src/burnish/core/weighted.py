"""Weighted objectives: several objectives combined into one, `text-bytes^0.7*seconds^0.3`.

The cost is the weighted geometric mean of the objectives' costs, so units do not matter. The log reward is
the weighted sum of their log rewards: 0.7 log(bytes before / after) + 0.3 log(seconds before / after).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from burnish.core.errors import InputError, UnknownName
from burnish.core.objective import Objective

FORM = "expected objectives with exponents that add up to 1, such as 'bytes^0.7*seconds^0.3'"


def is_weighted(text: str) -> bool:
    """Return whether a text has the form of a weighted objective."""
    return "*" in text or "^" in text


def factors(text: str) -> dict[str, float]:
    """Return the exponents in a weighted objective, by objective; a single objective has the exponent 1.

    Raises:
        InputError: the text is malformed.
    """
    if not is_weighted(text):
        return {text: 1.0}
    exponents: dict[str, float] = {}
    for part in text.replace(" ", "").split("*"):
        name, _, number = part.partition("^")
        try:
            exponent = float(number)
        except ValueError:
            raise InputError(f"objective {text!r}: {part!r} has no exponent; {FORM}") from None
        if not name or name in exponents or not 0 < exponent < math.inf:
            raise InputError(f"objective {text!r}: {part!r} is empty, repeated or not above 0; {FORM}")
        exponents[name] = exponent
    if not math.isclose(sum(exponents.values()), 1, abs_tol=1e-6):
        raise InputError(f"objective {text!r}: the exponents add up to {sum(exponents.values()):g}; {FORM}")
    return exponents


def product(costs: Mapping[str, float], text: str) -> float:
    """Return the cost of a weighted objective from its objectives' costs."""
    return math.prod(math.pow(costs[name], exponent) for name, exponent in factors(text).items())


def weighted_objective(text: str, known: Mapping[str, Objective]) -> Objective:
    """Return a weighted objective as an Objective.

    Raises:
        InputError: the text is malformed.
        UnknownName: one of its objectives is unknown.
    """
    exponents = factors(text)
    for name in exponents:
        if name not in known:
            raise UnknownName.among("objective", name, known)
    parts = [known[name] for name in exponents]
    return Objective(
        name="*".join(f"{name}^{exponent!r}" for name, exponent in exponents.items()),
        unit=" * ".join(f"{part.unit}^{exponents[part.name]:g}" for part in parts),
        description="weighted geometric mean of " + ", ".join(part.name for part in parts),
        dense=all(part.dense for part in parts),
        by_site=all(part.by_site for part in parts),
        noisy=any(part.noisy for part in parts),
        needs_workload=any(part.needs_workload for part in parts),
    )
