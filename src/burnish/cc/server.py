"""Fork server: a process that has imported what files need and forks for each file of a build.

The start of Python and the imports of a search take 0.5 s, as long as the search for a small file may take.
The launcher starts the server at the first file of a build, and waits for it (native/launcher/server.cpp). It
imports searches when a file needs the first one: a build whose objects are all remembered needs none. Units
of a whole program, as a configure script's tests make them, need a few modules, and no search before a link.
The process of a first file leaves its command to a later process, if it can, and only the server imports
modules. The server ends after IDLE_SECONDS without a call. A process inherits namespaces, limits and
processors, and cannot take over others later. So each combination of them has its own server, with its own
name.
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
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from burnish.cc.isolation import OF_SEARCHES, OF_UNITS, LeftToLoaded, expect_server_to_load, is_loaded, load

IDLE_SECONDS = 15.0
LOCK = 3  # the descriptor of the lock that the launcher has taken (native/launcher/server.cpp)
LOOK_SECONDS = 0.5  # between looks for children that have ended
SEARCHES, UNITS = b"s", b"u"  # a child tells that the others will need these modules, too
SIZE, CODE = struct.Struct("<Q"), struct.Struct("<i")


def serve(path: Path, call: Callable[[list[str]], int]) -> None:
    """Answer launchers on a socket until none calls for IDLE_SECONDS; return at once if another server does.

    The socket is in a folder that only this user can use. `call` handles a launcher's request in a process of
    its own, and returns the exit code.
    """
    if _is_named(LOCK, f"{path}.lock"):
        lock = LOCK
        os.set_inheritable(lock, False)
    else:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    if not _is_named(lock, f"{path}.lock"):  # an ended server has removed it; the next file starts a new one
        return
    import burnish.cc.direct  # noqa: F401  what files need whose objects are remembered

    sysconfig.get_path("scripts")  # the first call reads the configuration, which find_tool needs
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(256)
        try:
            _accept(listener, path, lock, call)
        finally:
            for ending in ("", ".lock"):  # the lock last: until then no other server can begin
                Path(f"{path}{ending}").unlink(missing_ok=True)


def _is_named(descriptor: int, path: str) -> bool:
    """Return whether an open file still has that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), Path(path).stat())
    except OSError:  # there is no such descriptor, or no such file any more
        return False


def _accept(listener: socket.socket, path: Path, lock: int, call: Callable[[list[str]], int]) -> None:
    children: set[int] = set()
    wanted, told = os.pipe()
    busy = time.monotonic()
    while children or time.monotonic() - busy < IDLE_SECONDS:
        ready, _, _ = select.select([listener.fileno(), wanted], [], [], LOOK_SECONDS)
        if ready or children:
            busy = time.monotonic()
        children = {child for child in children if os.waitpid(child, os.WNOHANG)[0] == 0}
        if wanted in ready:
            load(OF_SEARCHES if SEARCHES in os.read(wanted, select.PIPE_BUF) else OF_UNITS)
        if listener.fileno() not in ready:
            continue
        connection, _ = listener.accept()
        with connection:
            child = os.fork()
            if not child:
                listener.close()
                os.close(lock)
                _answer(connection, path, call, None if is_loaded() else told)
            children.add(child)


def _answer(
    connection: socket.socket, path: Path, call: Callable[[list[str]], int], told: int | None
) -> NoReturn:
    """Do the work of the launcher's process, and send the exit code to the launcher.

    If the work needs modules that the server has not imported, UNITS or SEARCHES goes to `told`.
    """
    code: int | None = 1
    try:
        arguments = _take_over(connection)
        connection.sendall(b"!")
        threading.Thread(target=_end_with_caller, args=(connection,), daemon=True).start()
        if told is not None:
            expect_server_to_load()
        try:
            code = call(arguments)
            if told is not None and is_loaded():
                os.write(told, SEARCHES)
        except LeftToLoaded as left:
            assert told is not None
            os.write(told, UNITS if left.names is OF_UNITS else SEARCHES)
            code = _ask(path, arguments)
        sys.stdout.flush()
        if code is not None:
            connection.sendall(CODE.pack(code))
    finally:
        os._exit(code or 0)


def _ask(path: Path, arguments: list[str]) -> int | None:
    """Leave the work to another process of the server, as the launcher does; return its exit code.

    None: that process died.
    """
    mask = os.umask(0)
    os.umask(mask)
    words = [str(Path.cwd()), str(mask), str(len(arguments)), *arguments]
    words += [f"{name}={value}" for name, value in os.environ.items()]
    body = b"".join(os.fsencode(word) + b"\0" for word in words)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        socket.send_fds(connection, [SIZE.pack(len(body))], [0, 1, 2])
        connection.sendall(body)
        answer = connection.recv(1)
        code = connection.recv(CODE.size, socket.MSG_WAITALL) if answer else b""
    return CODE.unpack(code)[0] if len(code) == CODE.size else None


def _take_over(connection: socket.socket) -> list[str]:
    """Take over the caller's files, folder, mask and variables; return its arguments."""
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
    """End by SIGTERM, as a compiler would, when the launcher is gone."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)
