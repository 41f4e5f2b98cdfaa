"""Commands of burnish, and of `burnish cc` with a stand-in, in processes forked from one with all imports.

The start of Python and its imports take 0.4 s of processor time, the rest of most commands less.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

OPTIMIZERS = Path(__file__).parent / "optimizers.py"
ROOT = Path(__file__).parents[2]
MOST_BYTES = 1 << 17  # of a request: its words and the environment


def run(
    command: Sequence[str], folder: Path, stdin: bytes = b"", seconds: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """Run a command and capture its output; OPTIMIZERS and burnish run in forked processes."""
    if command[0] != sys.executable or command[1] not in (str(OPTIMIZERS), "-m"):
        return subprocess.run(
            command, cwd=folder, input=stdin, capture_output=True, check=False, timeout=seconds
        )
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        mask = os.umask(0o22)
        os.umask(mask)
        request = json.dumps([str(folder), list(command[1:]), dict(os.environ), mask]).encode()
        assert len(request) < MOST_BYTES
        connection = server()
        connection.settimeout(seconds)
        socket.send_fds(connection, [request], [file.fileno() for file in (given, out, err)])
        code = os.waitstatus_to_exitcode(int(connection.recv(100)))
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


@functools.cache
def server() -> socket.socket:
    """Start the process that forks; return the connection, with which it ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    code = "import sys; sys.path[0] = {!r}; from tests.cc.served import serve; serve({})"
    begin = code.format(str(ROOT), theirs.fileno())
    with theirs:
        subprocess.Popen([sys.executable, "-c", begin], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    return ours


def serve(descriptor: int) -> None:
    """Run a command for each request, one after the other."""
    import burnish.cc.improve
    import burnish.cc.link.foreign
    import burnish.cc.machine_code
    import burnish.cc.optimizer
    import burnish.cc.rust_trials
    import burnish.cli
    import burnish.policies.sequence_values
    from tests.cc import optimizers

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = socket.socket(fileno=descriptor)
    while True:
        message, files, _, _ = socket.recv_fds(connection, MOST_BYTES, 3)
        if not message:
            return
        child = os.fork()
        if child:
            for file in files:
                os.close(file)
            connection.sendall(str(os.waitpid(child, 0)[1]).encode())
            continue
        connection.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        folder, sys.argv, variables, mask = json.loads(message)
        for standard, file in enumerate(files):
            os.dup2(file, standard)
            os.close(file)
        os.umask(mask)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        if sys.argv[0] == str(OPTIMIZERS):
            sys.exit(optimizers.main(sys.argv[1:]))
        assert sys.argv[:2] == ["-m", "burnish.cli"]
        sys.argv[:2] = [f"{burnish.cli.__path__[0]}/__main__.py"]
        sys.exit(burnish.cli.main())
