"""A cache of the states after traces, for many traces that differ by little."""

from __future__ import annotations

import hashlib
import math
from contextlib import AbstractContextManager

from burnish.core.errors import BurnishError, CompilerCrash, CompilerKilled, IllegalAction
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.walk import reached
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits

KEPT = 12  # most open sessions


class States(AbstractContextManager["States"]):
    """The states after traces of one program; no action is applied twice to the same state.

    States with equal digests are the same state, unless the compiler asks another question there. So leaving
    out an entry that changed nothing needs no work. A trace that reaches a known state needs work only for
    unknown entries after that state.
    """

    def __init__(self, task: Task, program: Program, *, limits: Limits = Limits(), kept: int = KEPT) -> None:
        """Open the program in a worker process; at most `kept` sessions stay open beside the program's.

        Raises:
            ProgramError: the program cannot be read.
        """
        self._root = Sandbox(task.open, program, limits=limits)
        self._start = _identity(self._root)
        self._next: dict[tuple[str, str], str | BurnishError] = {}  # by state and entry
        self._paths: dict[str, Trace] = {self._start: ()}  # by state: the first known trace to it
        self._costs: dict[tuple[str, str], float] = {}  # by state and objective
        self._open: Recent[str, Session] = Recent(kept, Session.close)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker process."""
        self._root.shutdown()

    def digests(self, trace: Trace) -> tuple[str, ...]:
        """Return the identities of the program and of the state after each entry: [1 + len(trace)].

        They are the digests; where the compiler asks, the question is a part.

        Raises:
            CompilerCrash: the compiler crashes or gives up at an entry.
            IllegalAction: an entry is illegal in its state.
            UnknownName: the action is unknown.
        """
        found = [self._start]
        for text in trace:
            found.append(self._after(found[-1], text))
        return tuple(found)

    def cost(self, trace: Trace, objective: str) -> float:
        """Return the cost of the last state; infinity if the trace crashes or is illegal.

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
        """Return the session at the end of a trace; the caller must not change or close it.

        Raises:
            CompilerCrash, IllegalAction, UnknownName: see `digests`.
        """
        return self._session(self.digests(trace)[-1])

    def _after(self, state: str, text: str) -> str:
        if (state, text) not in self._next:
            try:
                self._next[state, text] = self._again_if_killed(state, text)
            except (CompilerCrash, IllegalAction) as error:
                self._next[state, text] = error
        known = self._next[state, text]
        if isinstance(known, BurnishError):
            raise known
        return known

    def _again_if_killed(self, state: str, text: str) -> str:
        """Apply an entry; once more if another process killed the worker meanwhile."""
        try:
            return self._apply(state, text)
        except CompilerKilled:
            return self._apply(state, text)

    def _apply(self, state: str, text: str) -> str:
        session = self._session(state).fork()
        try:
            session.apply_entry(text)
            after = _identity(session)
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
        """Return a session in a state; reopen the session if it was closed to save memory."""
        if state == self._start:
            return self._root
        if (session := self._open.get(state)) is None:
            session = reached(self._root, self._paths[state])
            self._open.put(state, session)
        return session


def _identity(session: Session) -> str:
    """Return the digest of a state and its question: an answer may change only what is legal next."""
    digest, question = session.digest(), session.question()
    return (
        hashlib.blake2b(f"{digest} {question}".encode(), digest_size=16).hexdigest() if question else digest
    )
