"""Sandboxes: sessions in a child process, so that a crash of the compiler does not reach the caller."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from burnish.core.action import action_number
from burnish.core.answer import MakeAnswerer
from burnish.core.argument_checks import check_class
from burnish.core.errors import BurnishError, CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Opener
from burnish.core.trace import WHOLE_PROGRAM, Trace
from burnish.core.view import Start, Step, View
from burnish.workers import child
from burnish.workers.worker import Limits, PendingCall, Undone, Worker

_numbers = itertools.count()
F = TypeVar("F", bound=Callable[..., Any])


def _in_worker(method: F) -> F:
    """Return a method that calls the same method of the session in the worker process."""

    @wraps(method, updated=())
    def call(self: Sandbox, *arguments: Any, **named: Any) -> Any:
        return self._run(child.call_session, method.__name__, arguments, named)()

    return cast("F", call)


class Sandbox(Session):
    """A session in a worker process, with a deadline for every call and a memory limit.

    When the compiler crashes, hangs or exhausts its memory, the call raises CompilerCrash and the trace is
    unchanged; the next call starts a new process and replays the trace. Forks share the process, and other
    sessions may. If another session kills the process before a call's turn, a new process repeats the call.
    """

    def __init__(
        self,
        opener: Opener,
        program: Program,
        *,
        limits: Limits = Limits(),
        worker: Worker | None = None,
        actions: Sequence[str] | None = None,
    ) -> None:
        """Open the program in a worker process: at once, or with the first call if `actions` are given.

        Raises:
            ProgramError: the program cannot be read, or the compiler dies while reading.
            InputError: the opener or the program is of another class.
        """
        if not callable(opener):
            raise InputError(f"opener={opener!r:.60}: expected a function of a Program: load_task(NAME).open")
        check_class("program", program, Program, "a Program, as load_program('hot.c') returns it")
        self._opener = opener
        self._program = program
        self._worker = worker or Worker(limits)
        self._key = next(_numbers)
        self._generation = -1
        self._unfinished: PendingCall | None = None  # a call that changes the state, without a result yet
        self.trace: list[str] = []
        try:
            super().__init__(self._open() if actions is None else actions)
        except CompilerCrash as error:
            raise ProgramError(f"{program.name}: the compiler failed on this input: {error}") from None

    legal = _in_worker(Session.legal)
    observe = _in_worker(Session.observe)
    cost = measure = _in_worker(Session.measure)
    digest = _in_worker(Session.digest)
    verify = _in_worker(Session.verify)
    sites = _in_worker(Session.sites)
    identities = _in_worker(Session.identities)
    alternatives = _in_worker(Session.alternatives)
    site_costs = _in_worker(Session.site_costs)
    room = _in_worker(Session.room)
    part = _in_worker(Session.part)
    question = _in_worker(Session.question)
    object_code = _in_worker(Session.object_code)
    mask = _in_worker(Session.mask)

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """See Session."""
        action = action_number(action, self.actions)
        changed, text = self._run(child.apply_session, action, site, changes=True)()
        self.trace.append(text)
        return bool(changed)

    def answer(self, make: MakeAnswerer) -> Trace:
        """See Session; one round trip, and one deadline, for all questions."""
        entries: Trace = self._run(child.call_session, "answer", (make,), changes=True)()
        self.trace += entries
        return entries

    def begin_step(self, action: int, site: str, view: View, sites: tuple[str, ...]) -> Callable[[], Step]:
        """See Session; one round trip, and all errors are raised by the returned function."""
        plain = view.observations, view.objective, view.site_count
        begun = self._run(child.step_session, action, site, plain, sites, changes=True)

        def finish() -> Step:
            changed, observed, cost, mask, now, *rest = begun()
            step = Step(changed, observed, cost, mask, sites if now is None else now, *rest)
            self.trace.append(step.entry)
            return step

        return finish

    def begin_fork(
        self, view: View, baselines: Sequence[Callable[[], float]] = ()
    ) -> Callable[[], tuple[Session, Start]]:
        """See Session; one round trip, even if the program has to be opened first."""
        self._worker.refresh()
        copy = next(_numbers)
        opening = None if self._is_open() else (self._opener, self._program, tuple(self.trace))
        call = self._worker.begin(child.start_session, self._key, copy, opening, view, tuple(baselines))

        def finish() -> tuple[Session, Start]:
            try:
                start: Start = self._worker.finish(call)
            except Undone:
                return self.begin_fork(view, baselines)()
            self._generation = call.generation
            return self._copy(copy), start

        return finish

    def fork(self) -> Sandbox:
        """Return a second session in the same state, in the same process."""
        copy = next(_numbers)
        self._run(child.fork_session, copy)()
        return self._copy(copy)

    def opened_by(self, opener: Opener) -> Sandbox:
        """Return the same program, opened in another way in the same process."""
        return Sandbox(opener, self._program, worker=self._worker)

    def close(self) -> None:
        """Drop the session with the next message; the process continues: see shutdown()."""
        if self._is_open():
            self._worker.post(child.close_session, self._key)
        self._generation = -1

    def shutdown(self) -> None:
        """End the worker process, with every session in it."""
        self._worker.close()

    @property
    def pid(self) -> int | None:
        """The worker's process id; None after a crash, until the next call."""
        return self._worker.pid

    def _run(self, function: Callable[..., Any], *arguments: Any, changes: bool = False) -> Callable[[], Any]:
        """Start a call of a function that needs the session; open the session first if necessary."""
        if self._unfinished:  # after Ctrl-C, for example: the call's effect is not in the trace
            if not self._unfinished.answer:
                self._worker.close()
            self.close()
            self._unfinished, self._key = None, next(_numbers)
        opening = None if self._is_open() else self._begin_opening()
        call = self._worker.begin(function, self._key, *arguments)
        self._unfinished = call if changes else None

        def finish() -> Any:
            try:
                if opening:
                    self._finish_opening(opening)
                value = self._worker.finish(call)
            except Undone:
                self._unfinished = None
                return self._run(function, *arguments, changes=changes)()
            except BurnishError:
                self._unfinished = None
                raise
            self._unfinished = None
            return value

        return finish

    def _is_open(self) -> bool:
        return self._generation == self._worker.generation and self._worker.pid is not None

    def _open(self) -> tuple[str, ...]:
        self._worker.refresh()
        while True:
            with contextlib.suppress(Undone):
                return self._finish_opening(self._begin_opening())

    def _begin_opening(self) -> PendingCall:
        return self._worker.begin(
            child.open_session, self._key, self._opener, self._program, tuple(self.trace)
        )

    def _finish_opening(self, opening: PendingCall) -> tuple[str, ...]:
        actions: tuple[str, ...] = self._worker.finish(opening)
        self._generation = opening.generation
        return actions

    def _copy(self, key: int) -> Sandbox:
        copy = object.__new__(Sandbox)
        copy.__dict__.update(self.__dict__, trace=list(self.trace), _key=key, _unfinished=None)
        return copy
