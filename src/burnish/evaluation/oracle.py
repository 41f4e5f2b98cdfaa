"""The oracle: comparison of a program's behaviour after a trace with its unoptimized behaviour."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from burnish.core.errors import CompilerCrash, CompilerTimeout, IllegalAction, InputError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.validator import BEHAVIOUR, CODE_GENERATION, CRASH, HANG, INVALID, Failure
from burnish.evaluation.states import States
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits


class Oracle:
    """Checks traces against the unoptimized program's behaviour."""

    def __init__(
        self, task: Task, program: Program, *, limits: Limits = Limits(), timeout_seconds: float = 10.0
    ) -> None:
        """Run the unoptimized program twice, if it can be run.

        Args:
            task: The task of the traces.
            program: The program that the traces are applied to.
            limits: The limits of the compiler's processes.
            timeout_seconds: The time limit of a run of the program.

        Raises:
            InputError: the unoptimized program does not do what it should, or its two runs differ.
        """
        self.task = task
        self.program = program
        self.limits = limits
        behaviour = task.checks.behaviour(program) if task.checks.behaviour else None
        self.behaviour = behaviour and behaviour.within(timeout_seconds)
        self.expected: Any = self._run_unoptimized()
        self.states = States(task, program, limits=limits)
        self._known: dict[str, Failure | None] = {}  # by digest

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.states.close()

    def check(self, trace: Trace) -> Failure | None:
        """Return the failure of a trace, or None.

        An illegal trace is not a failure, because it is not a trace of this program.
        """
        try:
            state = self.states.digests(trace)[-1]
            if state not in self._known:
                self._known[state] = self._look(self.states.session(trace))
            return self._known[state]
        except IllegalAction:
            return None
        except CompilerTimeout as error:
            return Failure(HANG, str(error))
        except CompilerCrash as error:
            return Failure(CRASH, str(error))

    @contextlib.contextmanager
    def unoptimized(self) -> Iterator[Sandbox]:
        """Open the program in the task's first baseline, for a `with` statement."""
        session = Sandbox(self.task.baseline(self.task.unoptimized), self.program, limits=self.limits)
        try:
            yield session
        finally:
            session.shutdown()

    def _look(self, session: Session) -> Failure | None:
        try:
            session.verify()
        except CompilerTimeout:
            raise
        except CompilerCrash as error:
            return Failure(INVALID, str(error))
        if not self.behaviour:
            return None
        try:
            seen = self.behaviour.run(session, self.expected)
        except (InputError, CompilerCrash) as error:
            return Failure(CODE_GENERATION, str(error))
        found = self.behaviour.differences(seen, self.expected)
        return Failure(BEHAVIOUR, "; ".join(found), seen) if found else None

    def _run_unoptimized(self) -> Any:
        """Return the unoptimized program's behaviour, after checking that two runs are equal."""
        if not self.behaviour:
            return None
        with self.unoptimized() as session:
            expected, again = self.behaviour.run(session), self.behaviour.run(session)
        for seen, what in ((expected, "gives wrong results"), (again, "gives other results in a second run")):
            if found := self.behaviour.differences(seen, expected):
                name = self.task.label(self.task.unoptimized)
                raise InputError(f"{self.program.name}: at {name} the program {what}: {'; '.join(found)}")
        return expected
