"""The counters, with an action that breaks them, and a behaviour by which that is seen."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Checks, Task
from burnish.core.trace import WHOLE_PROGRAM, Trace
from burnish.core.validator import Behaviour
from tests.core.counting_task import TASK, open_counters
from tests.core.failures import FailingSession


class NegatingSession(FailingSession):
    """Counters that `negate` makes negative, which no right action does."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.counting = open_counters(program)
        super().__init__(self.counting, ("negate",))

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        if self.actions[action] != "negate":
            return super().apply(action, site)
        values = self.counting.counters
        values.update({name: -value for name, value in values.items()})
        self.record(action, site)
        return True

    def fork(self) -> NegatingSession:
        copy = NegatingSession(self.program)
        copy.replay(self.trace)
        return copy


class Signs(Behaviour):
    """What counters do: being negative."""

    def __init__(self, most: int) -> None:
        self.most = most

    def run(self, session: Session, expected: Any = None) -> int:
        return str(session.observe("text")).count("-")

    def differences(self, seen: Any, expected: Any) -> list[str]:
        return [] if seen == expected <= self.most else [f"{seen} counters are below 0, expected {expected}"]


def signs(program: Program, most: int = 9) -> Signs:
    """Return the behaviour of a program, of which so many counters may be negative at first."""
    return Signs(most)


def commandline(trace: Trace) -> str:
    """Return what would do the same."""
    return " ".join(["count", *trace])


NEGATING = replace(
    TASK,
    actions=(*TASK.actions, "negate"),
    open=NegatingSession,
    checks=Checks(signs, commandline=commandline),
)


def silent_task() -> Task:
    """Return the task without a command that does the same."""
    return replace(NEGATING, checks=Checks(signs))


def strict_task() -> Task:
    """Return the task with programs that are wrong from the start."""
    return replace(NEGATING, checks=replace(NEGATING.checks, behaviour=partial(signs, most=-1)))
