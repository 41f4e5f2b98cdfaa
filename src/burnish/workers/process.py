"""Child processes that serve calls, and the pipes to them; see burnish.workers.child."""

from __future__ import annotations

import math
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from typing import IO, Literal

from burnish.core.clock import Clock
from burnish.workers import child, fork_server

Begin = Literal["fork-server", "elsewhere", "fork"]
"""A process is forked by the fork server, by a second one at other memory addresses, or by this process."""
Child = fork_server.Forked | subprocess.Popen[bytes]
PAGE_BYTES = resource.getpagesize()


class Process:
    """The child and the pipes to it."""

    def __init__(self, memory_bytes: int, begin: Begin, spin_seconds: float) -> None:
        their_requests, self.requests = os.pipe()
        self.replies, their_replies = os.pipe()
        their_lifeline, lifeline = os.pipe()
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - nameless, closed by _end
        theirs = (their_requests, their_replies, their_lifeline)
        ours = (self.requests, self.replies, lifeline)
        self.popen = _child_of(begin, theirs, ours, self._output, memory_bytes, spin_seconds)
        for descriptor in theirs:
            os.close(descriptor)
        self.poller = select.poll()
        self.poller.register(self.replies, select.POLLIN)
        self.finalize = weakref.finalize(self, _end, self.popen, ours, self._output)

    def answers(self, end: float, until: float, clock: Clock, spin_seconds: float) -> bool:
        """Wait for a reply until `end` by time.monotonic() or `until` by `clock`; return whether it came."""
        while True:
            left = end - time.monotonic()
            if until < math.inf:
                left = min(left, until - clock.now([self.popen.pid]))
            if child.wait_for(self.poller, max(0.0, left), spin_seconds):
                return True
            if left <= 0:
                return False

    def resident_bytes(self) -> float:
        """Return the child's resident memory in bytes; 0 if the system does not report it. Takes 5 us."""
        try:
            descriptor = os.open(f"/proc/{self.popen.pid}/statm", os.O_RDONLY)
        except OSError:
            return 0.0
        try:
            return int(os.read(descriptor, 200).split()[1]) * PAGE_BYTES
        except OSError:  # the child ended after the file was opened
            return 0.0
        finally:
            os.close(descriptor)

    def last_words(self) -> str:
        """Return the first error line in the child's output, or else its first line, without LLVM's stack."""
        self._output.seek(0)
        text = self._output.read(1 << 16).decode(errors="replace")
        lines = [
            line for line in text.splitlines() if line.strip() and not line.startswith(("#", " #", "PLEASE"))
        ]
        errors = [line for line in lines if "error" in line.lower() or "assert" in line.lower()]
        return (errors or lines or [""])[0].strip()[:300]


def _child_of(
    begin: Begin,
    theirs: tuple[int, int, int],
    ours: tuple[int, int, int],
    output: IO[bytes],
    memory_bytes: int,
    spin_seconds: float,
) -> Child:
    """Start a process that serves calls; see child.main."""
    if begin == "fork":
        return _fork(theirs, ours, output, memory_bytes, spin_seconds)
    place: fork_server.Place = "here" if begin == "fork-server" else "elsewhere"
    birth = fork_server.Birth(memory_bytes, spin_seconds)
    for _ in range(2):  # the fork server may have been killed, so try a new one
        try:
            return fork_server.fork_server(place).fork(theirs, output.fileno(), birth)
        except OSError:
            fork_server.discard(place)
    fork_server.give_up()
    start = (  # a new interpreter, which imports its modules
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from burnish.workers.child import main; "
        f"main({', '.join(map(str, theirs))}, {memory_bytes}, {spin_seconds})"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", start],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=theirs,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # further threads would count as memory
    )


def _fork(
    theirs: tuple[int, int, int],
    ours: tuple[int, int, int],
    output: IO[bytes],
    memory_bytes: int,
    spin_seconds: float,
) -> fork_server.Forked:
    """Fork this process: all its imports are preloaded."""
    pid = os.fork()
    if pid:
        return fork_server.Forked(
            pid,
            lambda: os.kill(pid, signal.SIGKILL),
            lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]),
        )
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


def _end(popen: Child, descriptors: tuple[int, ...], output: IO[bytes]) -> None:
    popen.kill()
    popen.wait()
    for descriptor in descriptors:
        os.close(descriptor)
    output.close()
