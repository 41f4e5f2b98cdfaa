"""A compiler that is stopped in the middle leaves clang's object, no process and no temporary file."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cc.conftest import Compiler, compiling, make_drop_in
from tests.waiting import MOST_SECONDS, alive, wait_until


@pytest.fixture
def sleeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("SLEEPS", str(tmp_path / "sleeps"))
    return make_drop_in(tmp_path / "project", "sleep")


def start(sleeper: Compiler, tmp_path: Path) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Return the running compiler, in the midst of the search, and the search's processes."""
    process = subprocess.Popen([*sleeper.command, "-Os", "-c", "sum.c"], cwd=sleeper.directory)
    wait_until((tmp_path / "sleeps").exists)
    return process, [int(pid) for pid in (tmp_path / "sleeps").read_text().split()]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(clang: Compiler, sleeper: Compiler, tmp_path: Path, signum: int) -> None:
    process, children = start(sleeper, tmp_path)
    process.send_signal(signum)
    assert process.wait(MOST_SECONDS) == -signum
    wait_until(lambda: not any(map(alive, children)))
    assert not list((tmp_path / "temporary").iterdir())
    clang("-Os", "-c", "sum.c")
    assert sleeper.files() == clang.files()


def test_a_kill_leaves_no_process_and_a_whole_object(
    clang: Compiler, sleeper: Compiler, tmp_path: Path
) -> None:
    process, children = start(sleeper, tmp_path)
    process.kill()
    process.wait(MOST_SECONDS)
    wait_until(lambda: not any(map(alive, children)))
    clang("-Os", "-c", "sum.c")
    assert sleeper.files() == clang.files()


def test_a_signal_reaches_clang(sleeper: Compiler, tmp_path: Path) -> None:
    with compiling(sleeper, "-Os") as process:
        process.terminate()
        assert process.wait(MOST_SECONDS) == -signal.SIGTERM
    assert "slow.o" not in sleeper.files()
    assert not list((tmp_path / "temporary").iterdir())
