"""A child process that may crash, hang or eat memory without harm to its parent."""

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
from burnish.core.errors import CompilerCrash, CompilerMemory, CompilerTimeout, InputError
from burnish.workers import child
from burnish.workers.process import Begin, Process

GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """What a worker may use for one call, and when its process is replaced: compilers leak."""

    deadline_seconds: float = 60.0
    memory_bytes: int = 4 * GIB
    begin: Begin = "fork-server"  # or "elsewhere", where all addresses are others; or "fork", of this process
    recycle_calls: float = math.inf  # so many have been answered
    recycle_bytes: float | None = None
    """It has so much more resident memory than near its beginning; by default a quarter of memory_bytes."""


def check_limits(limits: Any) -> None:
    """Check the limits of a worker process; None is for no process.

    Raises:
        InputError: they are of another class, or not above 0.
    """
    if limits is None:
        return
    check_class("limits", limits, Limits, "burnish.Limits(deadline_seconds=60), or None")
    for name in ("deadline_seconds", "memory_bytes"):
        value = getattr(limits, name)
        if not isinstance(value, int | float) or not value > 0:
            raise InputError(f"Limits({name}={value!r}): expected a number above 0")


class Undone(CompilerCrash):
    """A call's process ended before its turn: nothing of it has happened, and it may be made again."""


class PendingCall:
    """A call of a function in a worker, and the answer once it is there."""

    __slots__ = ("answer", "generation", "request", "told")

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], told: bool = True) -> None:
        self.request = function, arguments, told
        self.told = told  # whether there will be an answer
        self.generation = 0  # of the process that it was sent to
        self.answer: tuple[int, Any] | None = None

    def value(self) -> Any:
        """Return what an answered call returned, or raise what it raised."""
        assert self.answer is not None
        kind, value = self.answer
        if kind in (child.ERROR, child.LOST):
            raise value
        return value


class Worker:
    """A child process that calls importable functions; a dead one starts anew at the next call.

    `begin` starts a call and `finish` waits for it: calls that begin while others are under way go together,
    in one message. A call that kills the process, or is late, costs those behind it their turn (`Undone`).
    Those of one message are shared by `threads`; where nobody knows which of them killed it, all are undone.

    `generation` counts the processes: what an earlier one held is gone. `begun` and `answered` count calls.
    """

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self.generation = self.begun = self.answered = 0
        self.spin_seconds = child.SPIN_SECONDS if len(os.sched_getaffinity(0)) > 1 else 0.0  # not on one core
        self.threads = 1
        self.clock: Clock = WALL
        self.until = math.inf  # by the clock: no answer is waited for any longer
        self._since = 0.0  # by time.monotonic()
        self._process: Process | None = None
        self._sent: deque[PendingCall] = deque()  # one message, without what is answered
        self._held: list[PendingCall] = []  # the next one
        self._waiting = 0  # of those, how many somebody waits for
        self._gathers = False
        self._shared = False  # the message that is under way, by several threads
        self._first = 0  # of this process' calls
        self._bytes = 0.0  # of resident memory, near the beginning
        self._is_worn = False

    def call(
        self, function: Callable[..., Any], *arguments: Any, deadline_seconds: float | None = None
    ) -> Any:
        """Call a function in the child and return what it returns.

        Raises:
            CompilerCrash: the child died; CompilerTimeout and CompilerMemory say how.
            BurnishError: what the function itself raised.
        """
        self.send(function, *arguments)
        return self.receive(deadline_seconds)[1]

    def send(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Start a call; `receive` brings its answers.

        An earlier call that is unanswered (Ctrl-C, say) costs the process: the answers would be confused.
        """
        if self._sent:
            self.close()
        self.refresh()
        call = self.begin(function, *arguments)
        # A process that had died while it waited is no failure of this call.
        if call.answer and (call := self.begin(function, *arguments)).answer:
            call.value()

    def receive(self, deadline_seconds: float | None = None) -> tuple[bool, Any]:
        """Wait for one answer: (True, item of a generator) or (False, the value that ends the call).

        The deadline counts from when the call was sent, or from the item before.
        """
        call = self._sent[0]
        item = self.hear(deadline_seconds)
        return (False, call.value()) if call.answer else (True, item)

    def stream(self, function: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
        """Call a generator function in the child; the deadline holds for each item."""
        self.send(function, *arguments)
        while (answer := self.receive())[0]:
            yield answer[1]

    def begin(self, function: Callable[..., Any], *arguments: Any) -> PendingCall:
        """Start a call, or let it go with the next message where others are under way."""
        call = PendingCall(function, arguments)
        self.begun += 1
        self._held.append(call)
        self._waiting += 1
        if not self._gathers:
            self.flush()
        return call

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Let a call that nobody waits for go with the next message, before what begins after it."""
        self._held.append(PendingCall(function, arguments, told=False))

    def finish(self, call: PendingCall) -> Any:
        """Wait for a call that was begun; return what it returns, or raise what it raises.

        Raises:
            Undone: its process ended before its turn.
        """
        while call.answer is None:
            if not self._sent:
                self.flush()
            else:
                self.hear()
        return call.value()

    def flush(self) -> None:
        """Send what waits for it, unless the message before is still under way."""
        if self._sent or not self._waiting:
            return
        process = self._started()
        message = []
        for call in self._held:
            message.append(call.request)
            call.generation = self.generation
            if call.told:
                self._sent.append(call)
        self._held.clear()
        self._waiting = 0
        self._shared = self.threads > 1 and len(message) > 1
        self._since = time.monotonic()
        try:
            child.write_message(process.requests, (self.threads, message))
        except BrokenPipeError:
            self._lose(self._bury(process), is_anybodys=True)
        except BaseException:  # what cannot be pickled; Ctrl-C
            self.close()
            raise

    def hear(self, deadline_seconds: float | None = None) -> Any:
        """Wait for a reply to the first call that is under way: return an item, or keep the call's answer.

        Whatever happens to the process is that call's answer. The deadline counts from the reply before.
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
        except BaseException:  # Ctrl-C: nobody knows who else still waits
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
        """Replace the process, as soon as nothing is under way, if its limits say so.

        Sessions in it have to be opened again: to be called where few are, at an episode's beginning.
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
        """Return the descriptor that becomes readable when an answer is there."""
        return self._started().replies

    @property
    def pid(self) -> int | None:
        """The child's process number; None while there is none."""
        return self._process.popen.pid if self._process else None

    @property
    def deadline(self) -> float:
        """When the unanswered call is late, by time.monotonic()."""
        return self._since + self.limits.deadline_seconds

    def close(self) -> None:
        """Kill the child; a later call starts another."""
        for call in (*self._sent, *self._held):
            call.answer = child.LOST, Undone("the worker process ended before this call's turn")
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
        """Give the process up, with an answer for the call whose turn it was, if that is known."""
        if not (self._shared and is_anybodys):
            self._sent.popleft().answer = child.LOST, error
        self.close()

    def _bury(self, process: Process) -> CompilerCrash:
        """Reap a child that died by itself and say how."""
        returncode = process.popen.wait()
        words = process.last_words()
        if any(said in words for said in ("out of memory", "bad_alloc", "MemoryError")):
            return CompilerMemory(f"out of memory (limit {self.limits.memory_bytes / GIB:.3g} GiB)")
        how = f"signal {signal.Signals(-returncode).name}" if returncode < 0 else f"exit code {returncode}"
        return CompilerCrash(f"the compiler process ended by {how}{': ' + words if words else ''}")


@contextlib.contextmanager
def gathered(workers: Iterable[Worker]) -> Iterator[None]:
    """Let all calls that begin in here go in one message for each worker, at the end."""
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
    """Return the workers that have an answer; none of them after so many seconds."""
    poller = select.poll()
    by_descriptor = {worker.fileno(): worker for worker in workers}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    ready = poller.poll(max(0.0, seconds) * 1000)
    return [by_descriptor[descriptor] for descriptor, _ in ready]
