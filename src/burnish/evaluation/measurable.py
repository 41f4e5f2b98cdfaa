"""Measuring the costs that a program has; some targets have no machine code in this build."""

from __future__ import annotations

from collections.abc import Iterable

from burnish.core.errors import NotMeasurable
from burnish.core.session import Session


def measure_all(session: Session, objectives: Iterable[str], needed: str) -> dict[str, float]:
    """Measure a state's objectives, except those that its program does not have.

    Args:
        session: The state.
        objectives: The objectives' names.
        needed: The objective that must be measurable, if it is among them.

    Raises:
        NotMeasurable: the program does not have the objective `needed`.
    """
    costs = {}
    for name in objectives:
        try:
            costs[name] = session.measure(name)
        except NotMeasurable:
            if name == needed:
                raise
    return costs
