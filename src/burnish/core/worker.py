"""A child process that may crash, hang or eat memory without harm to its parent."""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from burnish.core import child
from burnish.core.errors import CompilerCrash, CompilerMemory, CompilerTimeout

GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """What a worker may use for one call."""

    deadline_seconds: float = 60.0
    memory_bytes: int = 4 * GIB
    forked: bool = False  # it is a fork of this process: there in milliseconds, where one thread is at work


class Worker:
    """A child process that calls importable functions; a dead one starts anew at the next call.

    `generation` counts the processes: what an earlier one held is gone.
    """

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self.generation = 0
        # whoever waits and looks again and again on the only core takes the time of who works
        self.spin_seconds = child.SPIN_SECONDS if len(os.sched_getaffinity(0)) > 1 else 0.0
        self.unanswered = False  # a call was started and not waited for to its end
        self.until = math.inf  # by time.monotonic(): no answer is waited for any longer
        self._since = 0.0  # by time.monotonic()
        self._process: _Process | None = None

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
        if self.unanswered:
            self.close()
        process = self._started()
        self.unanswered = True
        self._since = time.monotonic()
        try:
            child.write_message(process.requests, (function, arguments))
        except BrokenPipeError:
            raise self._bury(process) from None

    def receive(self, deadline_seconds: float | None = None) -> tuple[bool, Any]:
        """Wait for one answer: (True, item of a generator) or (False, the value that ends the call).

        The deadline counts from when the call was sent, or from the item before.
        """
        process = self._started()
        seconds = self.limits.deadline_seconds if deadline_seconds is None else deadline_seconds
        end = min(self._since + seconds, self.until)
        if not child.wait_for(process.poller, max(0.0, end - time.monotonic()), self.spin_seconds):
            self.close()
            raise CompilerTimeout(
                f"no answer within {max(0.0, end - self._since):.3g} seconds; the worker was killed"
            )
        reply = child.read_message(process.replies)
        if reply is None:
            raise self._bury(process)
        kind, value = reply
        self.unanswered = kind == child.ITEM
        self._since = time.monotonic()
        if kind == child.LOST:
            self.close()
        if kind in (child.ERROR, child.LOST):
            raise value
        return kind == child.ITEM, value

    def stream(self, function: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
        """Call a generator function in the child; the deadline holds for each item."""
        self.send(function, *arguments)
        while (answer := self.receive())[0]:
            yield answer[1]

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
        self.unanswered = False
        if self._process:
            self._process.finalize()
            self._process = None

    def _started(self) -> _Process:
        if self._process is None:
            self._process = _Process(self.limits, self.spin_seconds)
            self.generation += 1
        return self._process

    def _bury(self, process: _Process) -> CompilerCrash:
        """Reap a child that died by itself and say how."""
        returncode = process.popen.wait()
        words = process.last_words()
        self.close()
        if "out of memory" in words or "bad_alloc" in words:
            return CompilerMemory(f"out of memory (limit {self.limits.memory_bytes / GIB:.3g} GiB)")
        how = f"signal {signal.Signals(-returncode).name}" if returncode < 0 else f"exit code {returncode}"
        return CompilerCrash(f"the compiler process ended by {how}{': ' + words if words else ''}")


class _Process:
    """The child and the pipes to it."""

    def __init__(self, limits: Limits, spin_seconds: float) -> None:
        their_requests, self.requests = os.pipe()
        self.replies, their_replies = os.pipe()
        their_lifeline, lifeline = os.pipe()
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - nameless, closed by _end
        theirs = (their_requests, their_replies, their_lifeline)
        ours = (self.requests, self.replies, lifeline)
        begin = _fork if limits.forked else _start
        self.popen = begin(theirs, ours, self._output, limits.memory_bytes, spin_seconds)
        for descriptor in theirs:
            os.close(descriptor)
        self.poller = select.poll()
        self.poller.register(self.replies, select.POLLIN)
        self.finalize = weakref.finalize(self, _end, self.popen, ours, self._output)

    def last_words(self) -> str:
        """Return the last line that the child printed before it died, without LLVM's stack dump."""
        self._output.seek(0)
        text = self._output.read(1 << 16).decode(errors="replace")
        lines = [
            line for line in text.splitlines() if line.strip() and not line.startswith(("#", " #", "PLEASE"))
        ]
        errors = [line for line in lines if "error" in line.lower() or "assert" in line.lower()]
        return (errors or lines or [""])[0].strip()[:300]


class _Fork:
    """A forked child, as subprocess would show it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._returncode: int | None = None

    def kill(self) -> None:
        """End it, unless it has ended."""
        if self._returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return its exit code; a negative one is the signal that it died of."""
        if self._returncode is None:
            self._returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._returncode


def _start(
    theirs: tuple[int, int, int],
    _ours: tuple[int, ...],
    output: IO[bytes],
    memory_bytes: int,
    spin_seconds: float,
) -> subprocess.Popen[bytes]:
    """Start a new interpreter: its own imports, and nothing of this process."""
    start = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from burnish.core.child import main; "
        f"main({', '.join(map(str, theirs))}, {memory_bytes}, {spin_seconds})"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", start],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=theirs,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # its threads would count as memory
    )


def _fork(
    theirs: tuple[int, int, int],
    ours: tuple[int, ...],
    output: IO[bytes],
    memory_bytes: int,
    spin_seconds: float,
) -> _Fork:
    """Fork this process: what it has imported is there at once."""
    pid = os.fork()
    if pid:
        return _Fork(pid)
    code = 1
    try:
        for descriptor in ours:
            os.close(descriptor)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for standard, descriptor in enumerate((nothing, output.fileno(), output.fileno())):
            os.dup2(descriptor, standard)
        child.main(*theirs, memory_bytes, spin_seconds)
        code = 0
    finally:
        os._exit(code)


def _end(popen: subprocess.Popen[bytes] | _Fork, descriptors: tuple[int, ...], output: IO[bytes]) -> None:
    popen.kill()
    popen.wait()
    for descriptor in descriptors:
        os.close(descriptor)
    output.close()


def wait(workers: list[Worker], seconds: float) -> list[Worker]:
    """Return the workers that have an answer; none of them after so many seconds."""
    poller = select.poll()
    by_descriptor = {worker.fileno(): worker for worker in workers}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    ready = poller.poll(max(0.0, seconds) * 1000)
    return [by_descriptor[descriptor] for descriptor, _ in ready]
