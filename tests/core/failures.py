"""Any task, with actions beside its own that kill, hang or starve the compiler."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from functools import partial

import numpy as np

from burnish.core.errors import CompilerCrash, CompilerKilled, CompilerMemory, CompilerTimeout
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Opener, Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed

FAILURES: dict[str, type[CompilerCrash]] = {
    "be-killed": CompilerKilled,
    "segfault": CompilerCrash,
    "exit": CompilerCrash,
    "give-up": CompilerCrash,
    "hang": CompilerTimeout,
    "eat-memory": CompilerMemory,
    "abort-out-of-memory": CompilerMemory,
}
"""What the actions are named, and what a sandbox makes of each."""


def failing_task(task: Task, *failures: str) -> Task:
    """Return the task with some of FAILURES (all by default) behind its own actions."""
    names = failures or tuple(FAILURES)
    opener = partial(open_failing, opener=task.open, failures=names)
    return replace(task, actions=(*task.actions, *names), open=opener)


def open_failing(program: Program, *, opener: Opener, failures: tuple[str, ...]) -> Session:
    """Open a session that has failures among its actions."""
    return FailingSession(opener(program), failures)


class FailingSession(Session):
    """A session that forwards all but the failures, which are legal on the whole program."""

    def __init__(self, inner: Session, failures: tuple[str, ...]) -> None:
        super().__init__((*inner.actions, *failures))
        self.inner = inner
        self.failures = failures
        self.trace = inner.trace

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        return np.append(self.inner.legal(site), [site == WHOLE_PROGRAM] * len(self.failures))

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        self.check_legal(action, site)
        if action >= len(self.inner.actions):
            fail(self.actions[action])
        return self.inner.apply(action, site)

    def observe(self, space: str) -> Observed:
        return self.inner.observe(space)

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        return self.inner.cost(objective, site)

    def digest(self) -> str:
        return self.inner.digest()

    def sites(self) -> tuple[str, ...]:
        return self.inner.sites()

    def fork(self) -> FailingSession:
        return FailingSession(self.inner.fork(), self.failures)


def leaking_task(task: Task, size_bytes: int) -> Task:
    """Return the task with a compiler that loses so much memory whenever an action is applied."""
    return replace(task, open=partial(open_leaking, opener=task.open, size_bytes=size_bytes))


def open_leaking(program: Program, *, opener: Opener, size_bytes: int) -> Session:
    """Open a session that leaks."""
    return LeakingSession(opener(program), size_bytes)


class LeakingSession(FailingSession):
    """A session that forwards all, and never gives back what it takes."""

    def __init__(self, inner: Session, size_bytes: int) -> None:
        super().__init__(inner, ())
        self.size_bytes = size_bytes

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        _leaked.append(b"x" * self.size_bytes)
        return super().apply(action, site)

    def fork(self) -> LeakingSession:
        return LeakingSession(self.inner.fork(), self.size_bytes)


_leaked: list[bytes] = []


def fail(how: str) -> None:
    """End this process, or keep it busy for ever."""
    match how:
        case "be-killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            os._exit(70)
        case "give-up":
            raise CompilerCrash("LLVM: out of registers")
        case "eat-memory":
            blocks: list[bytes] = []
            while True:
                blocks.append(bytes(1 << 24))  # of which no page is written: that would take a second
        case "abort-out-of-memory":  # what C++ does with a bad_alloc that nobody catches
            os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
            os.abort()
    time.sleep(3600)
