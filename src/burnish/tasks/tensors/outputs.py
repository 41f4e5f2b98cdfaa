"""The check that a schedule is right."""

from __future__ import annotations

from burnish.core.errors import Miscompiled
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.validator import Behaviour


class AsNumPy(Behaviour):
    """The comparison with NumPy on random arrays: the error message as text, "" if the results are equal."""

    same = "gives NumPy's results, like"
    unoptimized = ""

    def run(self, session: Session, expected: str | None = None) -> str:
        """Measure the schedule, which also compares it with NumPy; see Behaviour."""
        try:
            session.measure("seconds")
        except Miscompiled as error:
            return str(error)
        return ""

    def differences(self, seen: str, expected: str) -> list[str]:
        """See Behaviour."""
        return [seen] if seen else []


def behaviour(program: Program) -> Behaviour:
    """Return the behaviour by which schedules of a program are compared."""
    return AsNumPy()
