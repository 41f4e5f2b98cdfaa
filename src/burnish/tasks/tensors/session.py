"""Sessions whose objective is the time of a call, and the check that their schedules are right."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from burnish.core.errors import Miscompiled, UnknownName
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.validator import Behaviour

OBJECTIVES = {
    "seconds": Objective(
        "seconds",
        "s",
        "CPU time of a call, the minimum of several; arrays are in caches as far as they fit",
        dense=False,
        by_site=False,
        noisy=True,
        heading="seconds",
    ),
}


class TimedSession(Session):
    """A session with a cursor, whose only cost is the time of a call; sites have no cost of their own."""

    has_cursor = True

    def __init__(self, actions: Sequence[str], reopen: Callable[[], Session], program: Program) -> None:
        super().__init__(actions, reopen=reopen)
        self.program = program
        self._reported = ""  # the state whose cost was returned last

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return the seconds of a call, after a comparison with NumPy; 0 for a site: it has no own cost.

        A second request in the same state measures again, so that comparisons have several samples.
        """
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        if site:
            return 0.0
        state = self.state()
        again, self._reported = state == self._reported, state
        return self.seconds(again)

    def costs(self, objective: str) -> dict[str, float]:
        """Return an empty dict: sites have no cost of their own."""
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return {}

    @abstractmethod
    def state(self) -> str:
        """Return the identity of the measured state."""

    @abstractmethod
    def seconds(self, again: bool = False) -> float:
        """Return the time of a call: the last measurement of this state, or a new one.

        Raises:
            Miscompiled: the results differ from NumPy's.
        """


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
