"""Workers are forked by a process that has opened nothing, and that ends with whoever started it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.core.errors import CompilerCrash
from burnish.workers import fork_server
from burnish.workers.worker import Worker
from tests.waiting import alive, wait_until

pytestmark = pytest.mark.usefixtures("nothing_left")


def threads_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def wait_until_dead(*pids: int) -> None:
    wait_until(lambda: not any(map(alive, pids)))


def test_a_worker_is_the_fork_servers_child(worker: Worker) -> None:
    assert worker.call(os.getppid) == fork_server.fork_server().pid
    assert threads_of(fork_server.fork_server().pid) == 1


def test_a_worker_has_the_folder_environment_and_path_of_its_time(
    worker: Worker, make_worker: Callable[..., Worker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_TEST", "here")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "beside_fork_server.py").write_text(
        "import sys\ndef loaded():\n    return 'torch' in sys.modules\n"
    )
    import beside_fork_server  # type: ignore[import-not-found]

    assert worker.call(os.getcwd) == str(tmp_path)
    assert worker.call(os.getenv, "BURNISH_TEST") == "here"
    assert worker.call(beside_fork_server.loaded) is False
    monkeypatch.delenv("BURNISH_TEST")
    assert make_worker().call(os.getenv, "BURNISH_TEST") is None


@pytest.mark.parametrize(
    ("function", "argument", "how"),
    [(os._exit, 3, "exit code 3"), (signal.raise_signal, signal.SIGSEGV, "signal SIGSEGV")],
)
def test_how_a_worker_ended_is_known(worker: Worker, function: object, argument: int, how: str) -> None:
    with pytest.raises(CompilerCrash, match=how):
        worker.call(function, argument)  # type: ignore[arg-type]
    assert worker.call(abs, -1) == 1


def test_a_killed_fork_server_is_replaced(worker: Worker) -> None:
    worker.call(abs, -1)
    first, pid = fork_server.fork_server().pid, worker.pid
    os.kill(first, signal.SIGKILL)
    wait_until_dead(first)
    assert worker.call(os.getpid) == pid  # workers go on
    worker.close()
    assert worker.call(abs, -2) == 2
    assert fork_server.fork_server().pid != first


def test_all_end_with_who_started_them() -> None:
    source = (
        "import time\n"
        "from burnish.workers.fork_server import fork_server\n"
        "from burnish.workers.worker import Worker\n"
        "w = Worker(); w.call(abs, -1); print(fork_server().pid, w.pid, flush=True); time.sleep(3600)"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        pids = [int(word) for word in process.stdout.readline().split()]
        assert all(map(alive, pids))
        process.kill()
    assert len(pids) == 2
    wait_until_dead(*pids)


@pytest.mark.parametrize("sent", [b"", b"half of a request"], ids=["header", "half"])
def test_it_ends_where_the_process_that_asks_is_killed_in_between(sent: bytes) -> None:
    server = fork_server.ForkServer()
    ends = os.pipe()
    header = fork_server.HEADER.pack(1000)
    socket.send_fds(server._connection, [header], [ends[0], ends[1], ends[0], ends[1], ends[1]])
    server._connection.sendall(sent)
    server._connection.close()
    wait_until_dead(server.pid)
    server._finalize()
    for end in ends:
        os.close(end)


def test_a_fork_of_this_process_has_its_own() -> None:
    source = (
        "import os; from burnish.workers.fork_server import fork_server\n"
        "first = fork_server().pid\n"
        "if pid := os.fork(): raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "raise SystemExit(fork_server().pid == first)"
    )
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0


def test_addresses_differ_elsewhere(worker: Worker, make_worker: Callable[..., Worker]) -> None:
    elsewhere, again = make_worker(begin="elsewhere"), make_worker(begin="elsewhere")
    assert worker.call(id, None) != elsewhere.call(id, None)
    assert elsewhere.call(os.getpid) != again.call(os.getpid)
    assert elsewhere.call(os.getppid) == again.call(os.getppid) == fork_server.fork_server("elsewhere").pid


def test_without_a_fork_server_workers_are_interpreters() -> None:
    """A system on which nothing can be forked for others, say without pidfd_open."""
    source = (
        "import os; from burnish.workers import fork_server; from burnish.workers.worker import Worker\n"
        "def fail(*_): raise OSError('not here')\n"
        "fork_server.ForkServer.fork = fail\n"
        "w = Worker(); assert w.call(os.getppid) == os.getpid()\n"
        "try: fork_server.fork_server()\n"
        "except OSError: raise SystemExit(7)"
    )
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 7
