"""Fork server: a process with the workers' imports preloaded that forks each worker in milliseconds.

The fork server never opens a program, has one thread, and ends with the process that started it. Its forks
get only the environment, the folder, the cores and `sys.path` of the process that asks for them. There may be
two fork servers: all forks of one have their memory at the same addresses, those of the other at other
addresses.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from burnish.workers import child

KNOWN: tuple[str, ...] = ("numpy", "burnish._native", "burnish.tasks", "burnish.llvm.run", "burnish.search")
"""Modules that are preloaded, with their submodules, if the requesting process has imported them."""
WITH_TORCH = {"train", "api", "peers"}  # folders of tasks that import it: its threads forbid forks

HEADER = struct.Struct("<Q")  # a message's length in bytes
STATUS = struct.Struct("<i")  # an exit code; a negative one is a fatal signal
FORKED = struct.Struct("<i")  # a process id


@dataclass(frozen=True)
class Birth:
    """The settings of a fork."""

    memory_bytes: int
    spin_seconds: float
    modules: tuple[str, ...] = field(default_factory=lambda: tuple(filter(is_preloaded, sys.modules)))
    cores: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))
    path: tuple[str, ...] = field(default_factory=lambda: tuple(sys.path))
    folder: str = field(default_factory=os.getcwd)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))


class Forked:
    """A forked process, with the interface of subprocess.Popen."""

    def __init__(self, pid: int, kill: Callable[[], None], end: Callable[[], int]) -> None:
        self.pid = pid
        self._kill, self._end = kill, end  # `end` waits, and returns the exit code
        self._returncode: int | None = None

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        if self._returncode is None:
            self._kill()

    def wait(self) -> int:
        """Wait for the end and return the exit code; a negative one is a fatal signal."""
        if self._returncode is None:
            self._returncode = self._end()
        return self._returncode


class ForkServer:
    """The fork server's process, and the connection to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        start = (
            f"import sys; sys.path[:] = {sys.path!r}\n"
            f"from burnish.workers.fork_server import serve; serve({theirs.fileno()})"
        )
        with theirs:
            popen = subprocess.Popen(
                [sys.executable, "-P", "-c", start],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # only a process with one thread forks safely
            )
        self.pid = popen.pid
        self.owner = os.getpid()  # forks of this process must not use the connection
        self._connection = ours
        self._alone = threading.Lock()
        self._finalize = weakref.finalize(self, _end, popen, ours)

    def fork(self, descriptors: tuple[int, int, int], output: int, birth: Birth) -> Forked:
        """Return a new process that serves calls; see child.main.

        Args:
            descriptors: The pipes for requests, replies and the lifeline.
            output: The file descriptor for the process's output.
            birth: All other settings.

        Raises:
            OSError: the fork server is gone.
        """
        status, theirs = os.pipe()
        message = pickle.dumps(birth)
        try:
            with self._alone:
                socket.send_fds(self._connection, [HEADER.pack(len(message))], [*descriptors, output, theirs])
                self._connection.sendall(message)
                answer, handles, _, _ = socket.recv_fds(self._connection, FORKED.size, 1)
            if not handles:
                raise ConnectionError("the fork server has ended")
        except BaseException:
            os.close(status)
            raise
        finally:
            os.close(theirs)
        handle = handles[0]  # of pidfd_open(2), because process ids are reused

        def kill() -> None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)

        def end() -> int:
            select.select([handle], [], [])
            code = os.read(status, STATUS.size)  # from the fork server
            os.close(handle)
            os.close(status)
            return int(STATUS.unpack(code)[0]) if code else -signal.SIGKILL

        return Forked(FORKED.unpack(answer)[0], kill, end)


Place = Literal["here", "elsewhere"]
_servers: dict[Place, ForkServer] = {}
_given_up = False


def fork_server(place: Place = "here") -> ForkServer:
    """Return this process's fork server for one of two memory layouts; start the server if there is none.

    Raises:
        OSError: fork servers were given up.
    """
    if _given_up:
        raise ConnectionError("the fork server cannot start here")
    found = _servers.get(place)
    if found is None or found.owner != os.getpid():
        found = _servers[place] = ForkServer()
    return found


def discard(place: Place = "here") -> None:
    """Discard this process's fork server; the next call starts a new one."""
    found = _servers.pop(place, None)
    if found and found.owner == os.getpid():
        found._finalize()


def give_up() -> None:
    """Stop using fork servers in this process, because they do not work here."""
    global _given_up
    _given_up = True


def serve(descriptor: int) -> None:
    """Answer fork requests until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, so that the signal wakes the poll
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    poller = select.poll()
    for end in (descriptor, woken):
        poller.register(end, select.POLLIN)
    children: dict[int, int] = {}  # process id -> pipe for the exit code
    with socket.socket(fileno=descriptor) as connection:
        while True:
            ready = [end for end, _ in poller.poll()]
            if woken in ready:
                os.read(woken, 1 << 12)
                _reap(children)
            if descriptor in ready and not _answer(connection, children, (woken, wake)):
                return


def _answer(connection: socket.socket, children: dict[int, int], own: tuple[int, int]) -> bool:
    """Fork once; return whether there was a request."""
    header, descriptors, _, _ = socket.recv_fds(connection, HEADER.size, 5)
    if not header:
        return False
    message = b""
    while len(message) < HEADER.unpack(header)[0]:
        part = connection.recv(1 << 20)
        if not part:  # the requesting process was killed in the middle of its request
            return False
        message += part
    birth: Birth = pickle.loads(message)
    *theirs, status = descriptors
    for name in birth.modules:
        with contextlib.suppress(Exception):  # the worker reports the error when it needs the module
            importlib.import_module(name)
    pid = os.fork()
    if not pid:
        for descriptor in (*children.values(), *own, status):
            os.close(descriptor)
        connection.close()
        _live(theirs, birth)
    children[pid] = status
    for descriptor in theirs:
        os.close(descriptor)
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # a kernel or a sandbox without pidfd_open: the new process could not be killed
        os.kill(pid, signal.SIGKILL)
        return False
    socket.send_fds(connection, [FORKED.pack(pid)], [handle])
    os.close(handle)
    return True


def _live(descriptors: list[int], birth: Birth) -> None:
    """Run a worker in the forked child, then exit."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        requests, replies, lifeline, output = descriptors
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        sys.path[:] = birth.path
        os.environ.clear()
        os.environ.update(birth.environment)
        os.chdir(birth.folder)
        if os.sched_getaffinity(0) != birth.cores:  # that process has moved since the fork server began
            os.sched_setaffinity(0, birth.cores)
        child.main(requests, replies, lifeline, birth.memory_bytes, birth.spin_seconds)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _reap(children: dict[int, int]) -> None:
    """Send the exit codes of the children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            status = children.pop(ended[0])
            with contextlib.suppress(BrokenPipeError):
                os.write(status, STATUS.pack(os.waitstatus_to_exitcode(ended[1])))
            os.close(status)


def is_preloaded(module: str) -> bool:
    """Return whether a fork server imports a module that the requesting process has imported."""
    known = module.startswith(KNOWN) and any(f"{module}.".startswith(f"{known}.") for known in KNOWN)
    return known and not WITH_TORCH.intersection(module.split("."))


def _end(popen: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    popen.wait()
