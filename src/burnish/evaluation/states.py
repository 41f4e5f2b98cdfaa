"""Where traces lead, when many are asked for that differ by little."""

from __future__ import annotations

import math
from types import TracebackType

from burnish.core.errors import BurnishError, CompilerCrash, IllegalAction
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.walk import reached
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits

KEPT = 12  # open sessions


class States:
    """The states that traces of one program lead to; no action is applied twice to the same state.

    States are the same where their digests are. So a trace without an entry that changed nothing costs
    nothing, and one that joins a path that was gone before costs what lies ahead of that.
    """

    def __init__(self, task: Task, program: Program, *, limits: Limits = Limits()) -> None:
        """Open the program in a worker process.

        Raises:
            ProgramError: it cannot be read.
        """
        self._root = Sandbox(task.open, program, limits=limits)
        self._start = self._root.digest()
        self._next: dict[tuple[str, str], str | BurnishError] = {}  # by state and entry
        self._paths: dict[str, Trace] = {self._start: ()}  # the first that led there
        self._costs: dict[tuple[str, str], float] = {}  # by state and objective
        self._open: Recent[str, Session] = Recent(KEPT, Session.close)

    def __enter__(self) -> States:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker process."""
        self._root.shutdown()

    def digests(self, trace: Trace) -> tuple[str, ...]:
        """Return the digest of the program, and of the state after each entry: [1 + len(trace)].

        Raises:
            CompilerCrash: the compiler does not survive an entry.
            IllegalAction: an entry does not apply where it comes.
            UnknownName: there is no such action.
        """
        found = [self._start]
        for text in trace:
            found.append(self._after(found[-1], text))
        return tuple(found)

    def cost(self, trace: Trace, objective: str) -> float:
        """Return what the last state costs; infinity where the trace leads to none.

        Raises:
            UnknownName: there is no such objective or action.
        """
        try:
            state = self.digests(trace)[-1]
            if (state, objective) not in self._costs:
                self._costs[state, objective] = self._session(state).measure(objective)
            return self._costs[state, objective]
        except (CompilerCrash, IllegalAction):
            return math.inf

    def session(self, trace: Trace) -> Session:
        """Return the session at the end of a trace: to look at, not to change or to close.

        Raises:
            CompilerCrash, IllegalAction, UnknownName: see `digests`.
        """
        return self._session(self.digests(trace)[-1])

    def _after(self, state: str, text: str) -> str:
        if (state, text) not in self._next:
            try:
                self._next[state, text] = self._apply(state, text)
            except (CompilerCrash, IllegalAction) as error:
                self._next[state, text] = error
        known = self._next[state, text]
        if isinstance(known, BurnishError):
            raise known
        return known

    def _apply(self, state: str, text: str) -> str:
        session = self._session(state).fork()
        try:
            session.apply_entry(text)
            after = session.digest()
        except BurnishError:
            session.close()
            raise
        self._paths.setdefault(after, (*self._paths[state], text))
        if self._open.get(after) is None:
            self._open.put(after, session)
        else:
            session.close()
        return after

    def _session(self, state: str) -> Session:
        """Return a session in a state, a new one where it was closed to save memory."""
        if state == self._start:
            return self._root
        if (session := self._open.get(state)) is None:
            session = reached(self._root, self._paths[state])
            self._open.put(state, session)
        return session
