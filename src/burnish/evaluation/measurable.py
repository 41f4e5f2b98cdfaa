"""The costs that a program has: not every target has machine code here."""

from __future__ import annotations

from collections.abc import Iterable

from burnish.core.errors import NotMeasurable
from burnish.core.session import Session


def measure_all(session: Session, objectives: Iterable[str], needed: str) -> dict[str, float]:
    """Measure a state's objectives, but for those that its program does not have.

    Args:
        session: The state.
        objectives: Their names.
        needed: The one that must be there, if it is among them.

    Raises:
        NotMeasurable: the program has no such cost as `needed`.
    """
    costs = {}
    for name in objectives:
        try:
            costs[name] = session.measure(name)
        except NotMeasurable:
            if name == needed:
                raise
    return costs
