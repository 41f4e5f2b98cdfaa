"""A process that has imported everything and forks for each file of a build.

To start Python and to import takes as long as searching a small file may (0.2 s). The launcher starts this at
the second file within seconds (native/launcher/server.cpp); it ends when nobody has called for a while. For
each kind of what a process inherits and cannot take over (namespaces, limits, processors) there is one of its
own: its name says so.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

IDLE_SECONDS = 15.0
LOOK_SECONDS = 0.5  # how often to look for children that have ended
SIZE, CODE = struct.Struct("<Q"), struct.Struct("<i")


def serve(path: Path, call: Callable[[list[str]], int]) -> None:
    """Answer launchers on a socket until none has called for IDLE_SECONDS; return at once where another does.

    Args:
        path: The socket, in a folder that is this user's alone.
        call: Does what a launcher asks for, in a process of its own, and returns the exit code.
    """
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    if not _is_named(lock, f"{path}.lock"):  # an ended server has removed it since: the next file starts one
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # it is to fork with one thread
    # What every file needs, before the first asks.
    import burnish.cc.machine_code
    import burnish.cc.objects
    import burnish.cc.optimizer
    import burnish.policies.sequence_values  # noqa: F401

    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(256)
        try:
            _accept(listener, lock, call)
        finally:
            for ending in ("", ".seen", ".lock"):  # the lock last: it is this process' own until then
                Path(f"{path}{ending}").unlink(missing_ok=True)


def _is_named(descriptor: int, path: str) -> bool:
    """Say whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), Path(path).stat())
    except FileNotFoundError:
        return False


def _accept(listener: socket.socket, lock: int, call: Callable[[list[str]], int]) -> None:
    children: set[int] = set()
    busy = time.monotonic()
    while children or time.monotonic() - busy < IDLE_SECONDS:
        ready, _, _ = select.select([listener], [], [], LOOK_SECONDS)
        if ready or children:
            busy = time.monotonic()
        children = {child for child in children if os.waitpid(child, os.WNOHANG)[0] == 0}
        if not ready:
            continue
        connection, _ = listener.accept()
        with connection:
            child = os.fork()
            if not child:
                listener.close()
                os.close(lock)
                _answer(connection, call)
            children.add(child)


def _answer(connection: socket.socket, call: Callable[[list[str]], int]) -> NoReturn:
    """Become what the launcher would have become, and tell it the exit code."""
    code = 1
    try:
        arguments = _take_over(connection)
        connection.sendall(b"!")
        threading.Thread(target=_end_with_caller, args=(connection,), daemon=True).start()
        code = call(arguments)
        sys.stdout.flush()
        connection.sendall(CODE.pack(code))
    finally:
        os._exit(code)


def _take_over(connection: socket.socket) -> list[str]:
    """Take the caller's files, folder, mask and variables; return what it asks for."""
    first, descriptors, _, _ = socket.recv_fds(connection, SIZE.size, 3)
    (size,) = SIZE.unpack(first)
    body = bytearray()
    while len(body) < size:
        more = connection.recv(min(1 << 20, size - len(body)))
        if not more:
            raise EOFError
        body += more
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    directory, mask, count, *words = (os.fsdecode(word) for word in bytes(body).split(b"\0")[:-1])
    os.chdir(directory)
    os.umask(int(mask))
    variables = (word.partition("=") for word in words[int(count) :])
    os.environ.clear()
    os.environ.update({name: value for name, _, value in variables if name})
    return words[: int(count)]


def _end_with_caller(connection: socket.socket) -> None:
    """Stop as a signal stops a compiler when the launcher is gone."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)
