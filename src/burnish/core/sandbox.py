"""Any session, in a child process: what happens to the compiler does not happen to the caller."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from typing import Any

from burnish.core import child
from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.program import Program
from burnish.core.session import Mask, Observed, Session, Step
from burnish.core.task import Opener
from burnish.core.trace import WHOLE_PROGRAM
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
        limits: Limits = Limits(),  # noqa: B008 - frozen
        worker: Worker | None = None,
    ) -> None:
        """Open the program in a worker process.

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
            super().__init__(self._open())
        except CompilerCrash as error:
            raise ProgramError(f"{program.name}: the compiler died of this input: {error}") from None

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """See Session."""
        mask: Mask = self._call("legal", site)
        return mask

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """See Session."""
        changed: bool = self._call("apply", action, site)
        self.record(action, site)
        return changed

    def observe(self, space: str) -> Observed:
        """See Session."""
        observed: Observed = self._call("observe", space)
        return observed

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

    def site_costs(self, objective: str) -> dict[str, float]:
        """See Session."""
        costs: dict[str, float] = self._call("site_costs", objective)
        return costs

    def mask(self, sites: Sequence[str]) -> Mask:
        """See Session."""
        mask: Mask = self._call("mask", tuple(sites))
        return mask

    def step(
        self, action: int, site: str, observation: str, objective: str | None, sites: Sequence[str]
    ) -> Step:
        """See Session; one round trip."""
        step: Step = self._call("step", action, site, observation, objective, tuple(sites))
        self.record(action, site)
        return step

    def fork(self) -> Sandbox:
        """Return a second session in the same state, in the same process."""
        self._restore()
        copy = object.__new__(Sandbox)
        copy.__dict__.update(self.__dict__, trace=list(self.trace), _key=next(_numbers))
        self._worker.call(child.fork_session, self._key, copy._key)
        return copy

    def close(self) -> None:
        """Drop the session; its process goes on: see shutdown()."""
        if self._generation == self._worker.generation and self._worker.pid is not None:
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
        if self._generation != self._worker.generation or self._worker.pid is None:
            self._open()

    def _open(self) -> tuple[str, ...]:
        actions: tuple[str, ...] = self._worker.call(
            child.open_session, self._key, self._opener, self._program, tuple(self.trace)
        )
        self._generation = self._worker.generation
        return actions
