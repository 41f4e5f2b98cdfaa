"""Any session, in a child process: what happens to the compiler does not happen to the caller."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from burnish.core import child
from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.program import Program
from burnish.core.session import Part, Session
from burnish.core.task import Opener
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed, Start, Step, View
from burnish.core.worker import Limits, Worker

_numbers = itertools.count()


class Sandbox(Session):
    """A session in a worker process, with a deadline for every call and a memory limit.

    When the compiler crashes, hangs or eats its memory, the call raises CompilerCrash and the trace
    stays as it was; the next call starts a new process and replays it. Forks share the process.
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
        """Open the program in a worker process; where its actions are given, with the first call.

        Raises:
            ProgramError: the program cannot be read; a compiler that dies of it counts as that.
        """
        self._opener = opener
        self._program = program
        self._worker = worker or Worker(limits)
        self._key = next(_numbers)
        self._generation = -1
        self.trace: list[str] = []
        try:
            super().__init__(self._open() if actions is None else actions)
        except CompilerCrash as error:
            raise ProgramError(f"{program.name}: the compiler died of this input: {error}") from None

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """See Session."""
        mask: Mask = self._call("legal", site)
        return mask

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """See Session."""
        changed, text = self._call("act", action, site)
        self.trace.append(text)
        return bool(changed)

    def observe(self, space: str) -> Observed:
        """See Session."""
        observed: Observed = self._call("observe", space)
        return observed

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """See Session."""
        return self.measure(objective, site)

    def measure(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """See Session."""
        cost: float = self._call("measure", objective, site)
        return cost

    def digest(self) -> str:
        """See Session."""
        digest: str = self._call("digest")
        return digest

    def verify(self) -> str:
        """See Session."""
        checker: str = self._call("verify")
        return checker

    def sites(self) -> tuple[str, ...]:
        """See Session."""
        sites: tuple[str, ...] = self._call("sites")
        return sites

    def identities(self) -> dict[str, str]:
        """See Session."""
        identities: dict[str, str] = self._call("identities")
        return identities

    def site_costs(self, objective: str, priced: bool = True) -> dict[str, float]:
        """See Session."""
        costs: dict[str, float] = self._call("site_costs", objective, priced)
        return costs

    def room(self, objective: str) -> float:
        """See Session."""
        room: float = self._call("room", objective)
        return room

    def part(self, site: str, objective: str) -> Part | None:
        """See Session."""
        part: Part | None = self._call("part", site, objective)
        return part

    def object_code(self) -> bytes:
        """See Session."""
        code: bytes = self._call("object_code")
        return code

    def mask(self, sites: Sequence[str]) -> Mask:
        """See Session."""
        mask: Mask = self._call("mask", tuple(sites))
        return mask

    def step(self, action: int, site: str, view: View, sites: tuple[str, ...]) -> Step:
        """See Session; one round trip."""
        return self.begin_step(action, site, view, sites)()

    def begin_step(self, action: int, site: str, view: View, sites: tuple[str, ...]) -> Callable[[], Step]:
        """See Session; all that fails does so in the function that is returned."""
        try:
            self._restore()
            self._worker.send(child.call_session, self._key, "step", action, site, view, sites)
        except CompilerCrash as error:
            return partial(_fail, error)

        def finish() -> Step:
            step: Step = self._worker.receive()[1]
            self.trace.append(step.entry)
            return step

        return finish

    def begin_fork(
        self, view: View, baselines: Sequence[Callable[[], float]] = ()
    ) -> Callable[[], tuple[Session, Start]]:
        """See Session; one round trip, even where the program has to be opened first."""
        copy = next(_numbers)
        opening = None if self._is_open() else (self._opener, self._program, tuple(self.trace))
        try:
            self._worker.send(child.start_session, self._key, copy, opening, view, tuple(baselines))
        except CompilerCrash as error:
            return partial(_fail, error)

        def finish() -> tuple[Session, Start]:
            start: Start = self._worker.receive()[1]
            self._generation = self._worker.generation
            return self._copy(copy), start

        return finish

    def fork(self) -> Sandbox:
        """Return a second session in the same state, in the same process."""
        self._restore()
        copy = next(_numbers)
        self._worker.call(child.fork_session, self._key, copy)
        return self._copy(copy)

    def close(self) -> None:
        """Drop the session; its process goes on: see shutdown()."""
        if self._is_open():
            with contextlib.suppress(CompilerCrash):  # killed while idle: then the session is gone, too
                self._worker.call(child.close_session, self._key)
        self._generation = -1

    def shutdown(self) -> None:
        """End the worker process, with every session in it."""
        self._worker.close()

    @property
    def pid(self) -> int | None:
        """The worker's process number; None after a crash, until the next call."""
        return self._worker.pid

    def _call(self, method: str, *arguments: Any) -> Any:
        self._restore()
        return self._worker.call(child.call_session, self._key, method, *arguments)

    def _restore(self) -> None:
        if not self._is_open():
            self._open()

    def _is_open(self) -> bool:
        worker = self._worker
        return self._generation == worker.generation and worker.pid is not None and not worker.unanswered

    def _copy(self, key: int) -> Sandbox:
        copy = object.__new__(Sandbox)
        copy.__dict__.update(self.__dict__, trace=list(self.trace), _key=key)
        return copy

    def _open(self) -> tuple[str, ...]:
        actions: tuple[str, ...] = self._worker.call(
            child.open_session, self._key, self._opener, self._program, tuple(self.trace)
        )
        self._generation = self._worker.generation
        return actions


def _fail(error: CompilerCrash) -> NoReturn:
    raise error
