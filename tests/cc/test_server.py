"""A process that has imported what files need does what the launcher asks."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.cc import server
from tests.cc.conftest import Compiler, copied_launcher, make_stock, write_script
from tests.waiting import MOST_SECONDS, alive, wait_until

# A server begins with the first file, and ends fifteen seconds after the last.
pytestmark = pytest.mark.flaky(reruns=1)
BUDGET = "--budget=20evaluations"


@pytest.fixture
def burnish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    """A launcher in a folder of its own, whose `burnish` writes down each time that it starts."""
    runtime = tempfile.mkdtemp()  # short: the path of a socket has 108 bytes at most
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    (tmp_path / "run").symlink_to(runtime)
    stock = make_stock(tmp_path / "project")
    launcher, log = copied_launcher(tmp_path / "bin"), tmp_path / "log"
    script = f'echo "$2" >> {tmp_path}/starts\nexec {sys.executable} -m burnish.cli "$@"'
    write_script(tmp_path / "bin" / "burnish", script)
    yield Compiler(stock.directory, [launcher, "--report", str(log)], log=log)
    for pid in servers(tmp_path):
        os.kill(pid, signal.SIGTERM)
    shutil.rmtree(runtime)


def servers(tmp_path: Path) -> list[int]:
    """Return the servers of this test alone, by the socket that they were told."""
    said = f"--serve={(tmp_path / 'run').resolve()}/"
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if said in line.read_text():
                found.append(int(line.parent.name))
        except OSError:
            continue
    return found


def starts(tmp_path: Path) -> list[str]:
    return [line.partition("=")[0] for line in (tmp_path / "starts").read_text().splitlines()]


def sockets(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "run" / "burnish").iterdir() if path.is_socket()]


def warm(burnish: Compiler, tmp_path: Path) -> None:
    """Compile twice: the first one starts the server."""
    for number in range(2):
        assert not burnish(BUDGET, "-Os", "-c", "sum.c", "-o", f"{number}.o").returncode
    assert sockets(tmp_path)
    assert starts(tmp_path) == ["--serve"]


def test_the_first_file_starts_a_server_that_makes_the_same(burnish: Compiler, tmp_path: Path) -> None:
    warm(burnish, tmp_path)
    mask = os.umask(0o027)
    try:
        done = burnish(BUDGET, "-Os", "-c", "sum.c", "-o", "2.o")
    finally:
        os.umask(mask)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(starts(tmp_path)) == 1
    assert burnish(BUDGET, "-Os", "-c", "sum.c", "-o", "3.o", "-DUNUSED").returncode == 0
    files = burnish.files()
    assert files["2.o"] == files["0.o"] == files["1.o"]
    rows = [row | {"time": "", "seconds": 0, "output": "", "command": ""} for row in burnish.records()]
    assert rows[0] == rows[1] == rows[2] == rows[3]
    assert rows[0]["action"] == "optimized"
    assert stat.S_IMODE((burnish.directory / "2.o").stat().st_mode) == 0o640


def test_an_error_of_burnishs_is_told_where_it_was_called(burnish: Compiler, tmp_path: Path) -> None:
    warm(burnish, tmp_path)
    done = burnish("--budget=soon", "-Os", "-c", "sum.c")
    assert done.returncode == 2
    assert done.stderr.startswith(b"burnish cc: --budget soon: expected")
    assert len(starts(tmp_path)) == 1


LEAVING = """
import os, signal, sys
from pathlib import Path
from burnish.cc.isolation import OF_SEARCHES, OF_UNITS, is_loaded, load_or_leave
from burnish.cc.server import serve

def call(arguments):
    with open("calls", "a") as calls:
        loaded = "searches" if is_loaded() else "units" if is_loaded(OF_UNITS) else "none"
        print(os.getpid(), loaded, file=calls)
    load_or_leave(OF_UNITS if arguments == ["unit"] else OF_SEARCHES)
    if arguments == ["die"]:
        os.kill(os.getpid(), signal.SIGKILL)
    Path("seen").write_text(f"{arguments} {os.environ['MARK']}")
    return 7

serve(Path(sys.argv[1]), call)
"""


def test_only_the_server_imports_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of a first file leaves its command to one that begins after the import.

    For units of a whole program, the server imports less.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARK", "a = b")
    with tempfile.TemporaryDirectory() as short:
        path = Path(short) / "socket"
        process = subprocess.Popen([sys.executable, "-c", LEAVING, str(path)], stdin=subprocess.DEVNULL)
        try:
            wait_until(lambda: _answers(path))
            assert server._ask(path, ["unit"]) == 7
            assert server._ask(path, ["one", "a\nb"]) == 7
            assert (tmp_path / "seen").read_text() == "['one', 'a\\nb'] a = b"
            assert server._ask(path, ["die"]) is None
            assert server._ask(path, []) == 7
            (tmp_path / "calls").rename("first")
            assert alive(process.pid)
        finally:
            process.kill()
            process.wait()
        pids, loaded = zip(*map(str.split, (tmp_path / "first").read_text().splitlines()), strict=True)
        assert loaded == ("none", "units", "units", "searches", "searches", "searches")
        assert len(set(pids)) == 6
        again = subprocess.Popen([sys.executable, "-c", LEAVING, str(path)], stdin=subprocess.DEVNULL)
        try:
            wait_until(lambda: _answers(path))
            assert server._ask(path, ["die"]) is None  # by a process that another one has asked
        finally:
            again.kill()
            again.wait()
        assert len((tmp_path / "calls").read_text().splitlines()) == 2


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        return connection.connect_ex(str(path)) == 0


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_who_is_stopped_leaves_no_search(burnish: Compiler, tmp_path: Path, signum: int) -> None:
    warm(burnish, tmp_path)
    (server,) = servers(tmp_path)
    children = Path(f"/proc/{server}/task/{server}/children")
    command = [*burnish.command, "--budget=300s", "--search=random", "-Os", "-c", "sum.c"]
    process = subprocess.Popen(command, cwd=burnish.directory)
    wait_until(lambda: bool(children.read_text().split()))
    searching = [int(pid) for pid in children.read_text().split()]
    process.send_signal(signum)
    assert process.wait(MOST_SECONDS) == -signum
    wait_until(lambda: not any(map(alive, searching)))
    assert alive(server)


@pytest.mark.slow
def test_it_ends_when_nobody_calls(burnish: Compiler, tmp_path: Path) -> None:
    warm(burnish, tmp_path)
    wait_until(lambda: not sockets(tmp_path))
    wait_until(lambda: not servers(tmp_path))
    assert not list((tmp_path / "run" / "burnish").iterdir())
    assert not burnish(BUDGET, "-Os", "-c", "sum.c").returncode


def test_files_of_servers_that_are_gone_are_removed(burnish: Compiler, tmp_path: Path) -> None:
    """A server's start sweeps: sockets and locks of others, but for those of one that lives."""
    folder = tmp_path / "run" / "burnish"
    folder.mkdir(mode=0o700)
    for number in range(20):
        for ending in ("", ".lock"):
            path = folder / f"{number:032x}{ending}"
            path.touch()
            os.utime(path, (0, 0))
    (folder / "notes").touch()  # nothing of a server's
    with (folder / f"{7:032x}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not burnish(BUDGET, "-Os", "-c", "sum.c").returncode
    left = {path.name for path in folder.iterdir()}
    (socket,) = sockets(tmp_path)
    assert left == {"notes", socket.name, f"{socket.name}.lock", f"{7:032x}", f"{7:032x}.lock"}


def test_files_wait_for_a_server_that_starts(burnish: Compiler, tmp_path: Path) -> None:
    assert not burnish(BUDGET, "-Os", "-c", "sum.c", "-o", "0.o").returncode
    commands = [[*burnish.command, BUDGET, "-Os", "-c", "sum.c", "-o", f"{i}.o"] for i in range(1, 5)]
    processes = [subprocess.Popen(command, cwd=burnish.directory) for command in commands]
    assert [process.wait(MOST_SECONDS) for process in processes] == [0] * 4
    assert starts(tmp_path) == ["--serve"]
    files = burnish.files()
    assert len({files[f"{i}.o"] for i in range(5)}) == 1


def test_a_server_that_ends_at_once_is_not_waited_for(burnish: Compiler, tmp_path: Path) -> None:
    script = f'echo "$2" >> {tmp_path}/starts\ncase "$2" in --serve*) exit 1;; esac\n'
    write_script(tmp_path / "bin" / "burnish", script + f'exec {sys.executable} -m burnish.cli "$@"')
    for _ in range(3):
        assert not burnish(BUDGET, "-Os", "-c", "sum.c").returncode
    assert sorted(starts(tmp_path)) == [*["--compiled"] * 3, *["--serve"] * 3]


def test_alone_leaves_none(burnish: Compiler, tmp_path: Path) -> None:
    for _ in range(3):
        assert not burnish("--alone", BUDGET, "-Os", "-c", "sum.c").returncode
    assert starts(tmp_path) == ["--compiled"] * 3


def test_a_folder_that_others_can_write_is_not_used(burnish: Compiler, tmp_path: Path) -> None:
    (tmp_path / "run" / "burnish").mkdir()
    (tmp_path / "run" / "burnish").chmod(0o777)
    for _ in range(3):
        assert not burnish(BUDGET, "-Os", "-c", "sum.c").returncode
    assert starts(tmp_path) == ["--compiled"] * 3
