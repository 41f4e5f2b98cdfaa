"""Workers: child processes that may crash, hang or exhaust memory without harm to the parent."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from burnish.core.argument_checks import check_class
from burnish.core.clock import WALL, Clock
from burnish.core.errors import CompilerCrash, CompilerKilled, CompilerMemory, CompilerTimeout, InputError
from burnish.workers import child
from burnish.workers.process import Begin, Process

GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """A worker's limits for one call, and for replacing its process, because compilers leak memory."""

    deadline_seconds: float = 60.0
    memory_bytes: int = 4 * GIB
    begin: Begin = "fork-server"  # or "elsewhere": at other memory addresses; or "fork": of this process
    recycle_calls: float = math.inf  # replace the process after so many calls
    recycle_bytes: float | None = None
    """Replace it when its resident memory has grown so much; None: by a quarter of memory_bytes."""


def check_limits(limits: Any) -> None:
    """Check the limits of a worker process; None stands for no worker process.

    Raises:
        InputError: the limits are of another class, or not above 0.
    """
    if limits is None:
        return
    check_class("limits", limits, Limits, "burnish.Limits(deadline_seconds=60), or None")
    for name in ("deadline_seconds", "memory_bytes"):
        value = getattr(limits, name)
        if not isinstance(value, int | float) or not value > 0:
            raise InputError(f"Limits({name}={value!r}): expected a number above 0")


class Undone(CompilerCrash):
    """A call's process ended before the call's turn; the call had no effect and may be repeated."""


class PendingCall:
    """A call of a function in a worker, and its answer after the arrival."""

    __slots__ = ("answer", "generation", "request", "wants_answer")

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], wants_answer: bool = True
    ) -> None:
        self.request = function, arguments, wants_answer
        self.wants_answer = wants_answer  # whether the worker sends an answer
        self.generation = 0  # of the process that got the call
        self.answer: tuple[int, Any] | None = None

    def value(self) -> Any:
        """Return an answered call's value, or raise its error."""
        assert self.answer is not None
        kind, value = self.answer
        if kind in (child.ERROR, child.LOST):
            raise value
        return value


class Worker:
    """A child process that calls importable functions; after its death, the next call starts a new one.

    `begin` starts a call and `finish` waits for it. Calls that begin while others are running are sent
    together, in the next message. If a call kills the process or is late, the calls after it raise `Undone`.
    Calls of one message run on `threads`; if the call that killed the process is unknown, all raise `Undone`.

    `generation` counts the processes, which share no state. `begun` and `answered` count calls.
    """

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self.generation = self.begun = self.answered = 0
        # on a single core, spinning would take time from the worker
        self.spin_seconds = child.SPIN_SECONDS if len(os.sched_getaffinity(0)) > 1 else 0.0
        self.threads = 1
        self.clock: Clock = WALL
        self.until = math.inf  # by `clock`: unanswered calls time out then
        self._since = 0.0  # time.monotonic() of the last message or reply
        self._process: Process | None = None
        self._sent: deque[PendingCall] = deque()  # the sent message's unanswered calls
        self._held: list[PendingCall] = []  # the next message's calls
        self._waiting = 0  # number of held calls that get an answer
        self._gathers = False
        self._shared = False  # whether several threads share the sent message
        self._first = 0  # value of `answered` when this process began
        self._bytes = 0.0  # resident memory soon after the process began
        self._is_worn = False  # whether to replace the process when no call is running

    def call(
        self, function: Callable[..., Any], *arguments: Any, deadline_seconds: float | None = None
    ) -> Any:
        """Call a function in the child and return what it returns.

        Raises:
            CompilerCrash: the child died; its subclasses CompilerTimeout and CompilerMemory name the cause.
            BurnishError: the function itself raised it.
        """
        self.send(function, *arguments)
        return self.receive(deadline_seconds)[1]

    def send(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call; `receive` returns its answers.

        If an earlier call is unanswered (after Ctrl-C), the process is replaced, so that answers do not mix.
        """
        if self._sent:
            self.close()
        self.refresh()
        call = self.begin(function, *arguments)
        # If the idle process had died, this call is not to blame: send it again to a new process.
        if call.answer and (call := self.begin(function, *arguments)).answer:
            call.value()

    def receive(self, deadline_seconds: float | None = None) -> tuple[bool, Any]:
        """Wait for one answer: (True, item of a generator) or (False, final value of the call).

        The deadline counts from the sending of the call, or from the previous item.
        """
        call = self._sent[0]
        item = self.hear(deadline_seconds)
        return (False, call.value()) if call.answer else (True, item)

    def stream(self, function: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
        """Call a generator function in the child; the deadline applies to each item."""
        self.send(function, *arguments)
        while (answer := self.receive())[0]:
            yield answer[1]

    def begin(self, function: Callable[..., Any], *arguments: Any) -> PendingCall:
        """Start a call; if other calls are running, it is sent with the next message."""
        call = PendingCall(function, arguments)
        self.begun += 1
        self._held.append(call)
        self._waiting += 1
        if not self._gathers:
            self.flush()
        return call

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Add a call without an answer to the next message, before calls that begin later."""
        self._held.append(PendingCall(function, arguments, wants_answer=False))

    def finish(self, call: PendingCall) -> Any:
        """Wait for a call of `begin`; return its value, or raise its error.

        Raises:
            Undone: the process ended before the call's turn.
        """
        while call.answer is None:
            if not self._sent:
                self.flush()
            else:
                self.hear()
        return call.value()

    def flush(self) -> None:
        """Send the held calls, unless calls of the previous message are still unanswered."""
        if self._sent or not self._waiting:
            return
        process = self._started()
        message = []
        for call in self._held:
            message.append(call.request)
            call.generation = self.generation
            if call.wants_answer:
                self._sent.append(call)
        self._held.clear()
        self._waiting = 0
        self._shared = self.threads > 1 and len(message) > 1
        self._since = time.monotonic()
        try:
            child.write_message(process.requests, (self.threads, message))
        except BrokenPipeError:
            self._lose(self._bury(process), is_anybodys=True)
        except BaseException:  # a call that cannot be pickled, or Ctrl-C
            self.close()
            raise

    def hear(self, deadline_seconds: float | None = None) -> Any:
        """Wait for a reply to the first unanswered call: return an item, or store the call's answer.

        If the process dies, that is this call's answer. The deadline counts from the previous reply.
        """
        process, call = self._process, self._sent[0]
        assert process is not None
        seconds = self.limits.deadline_seconds if deadline_seconds is None else deadline_seconds
        try:
            if not process.answers(self._since + seconds, self.until, self.clock, self.spin_seconds):
                most = min(seconds, time.monotonic() - self._since)
                self._lose(CompilerTimeout(f"no answer within {most:.3g} seconds; the worker was killed"))
                return None
            reply = child.read_message(process.replies)
        except BaseException:  # Ctrl-C: the state of the other calls is unknown
            self.close()
            raise
        if reply is None:
            self._lose(self._bury(process), is_anybodys=True)
            return None
        self._since = time.monotonic()
        kind, value = reply
        if kind == child.LOST:
            self._lose(value, is_anybodys=isinstance(value, CompilerMemory))
        elif kind != child.ITEM:
            call.answer = reply
            self._sent.popleft()
            self.answered += 1
            if not self._sent and self._is_worn:
                self.close()
            if self._held:
                self.flush()
        return value

    def refresh(self) -> None:
        """Replace the process, as soon as no call is running, if it exceeds its `recycle` limits.

        Sessions in the process have to be opened again, so call this at an episode's beginning.
        """
        process, limits = self._process, self.limits
        if process is None or self.answered <= self._first:
            return
        most = limits.memory_bytes / 4 if limits.recycle_bytes is None else limits.recycle_bytes
        resident = process.resident_bytes()
        self._bytes = self._bytes or resident
        if self.answered - self._first >= limits.recycle_calls or resident - self._bytes >= most:
            self._is_worn = True
            if not self._sent:
                self.close()

    def fileno(self) -> int:
        """Return the file descriptor that becomes readable when an answer arrives."""
        return self._started().replies

    @property
    def pid(self) -> int | None:
        """The child's process id; None if there is no process."""
        return self._process.popen.pid if self._process else None

    @property
    def deadline(self) -> float:
        """The deadline of the unanswered call, by time.monotonic()."""
        return self._since + self.limits.deadline_seconds

    def close(self) -> None:
        """Kill the child; a later call starts a new one."""
        for call in (*self._sent, *self._held):
            call.answer = child.LOST, Undone("the worker process ended before this call began")
        self._sent.clear()
        self._held.clear()
        self._waiting = 0
        self.answered = self.begun
        if self._process:
            self._process.finalize()
            self._process = None

    def _started(self) -> Process:
        if self._process is None:
            self._process = Process(self.limits.memory_bytes, self.limits.begin, self.spin_seconds)
            self.generation += 1
            self._first = self.answered
            self._bytes = 0.0
            self._is_worn = False
        return self._process

    def _lose(self, error: Exception, is_anybodys: bool = False) -> None:
        """Close the process; `error` answers the first unanswered call if that call caused it."""
        if not (self._shared and is_anybodys):
            self._sent.popleft().answer = child.LOST, error
        self.close()

    def _bury(self, process: Process) -> CompilerCrash:
        """Reap a child that died by itself and return an error with the cause."""
        returncode = process.popen.wait()
        words = process.last_words()
        if any(said in words for said in ("out of memory", "bad_alloc", "MemoryError")):
            return CompilerMemory(f"out of memory (limit {self.limits.memory_bytes / GIB:.3g} GiB)")
        how = f"signal {signal.Signals(-returncode).name}" if returncode < 0 else f"exit code {returncode}"
        kind = CompilerKilled if -returncode in (signal.SIGKILL, signal.SIGTERM) else CompilerCrash
        return kind(f"the compiler process ended by {how}{': ' + words if words else ''}")


@contextlib.contextmanager
def gathered(workers: Iterable[Worker]) -> Iterator[None]:
    """Collect all calls that begin in this context; send them at its end, one message per worker."""
    several = list(workers)
    for worker in several:
        worker._gathers = True
    try:
        yield
    finally:
        for worker in several:
            worker._gathers = False
            worker.flush()


def wait(workers: list[Worker], seconds: float) -> list[Worker]:
    """Return the workers that have an answer; [] if none has one within so many seconds."""
    poller = select.poll()
    by_descriptor = {worker.fileno(): worker for worker in workers}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    ready = poller.poll(max(0.0, seconds) * 1000)
    return [by_descriptor[descriptor] for descriptor, _ in ready]
