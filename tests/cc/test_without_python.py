"""clang's object stands, and the build goes on, where burnish cannot be run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cc.conftest import Compiler, copied_launcher, make_stock, write_script

BROKEN = {
    "no burnish": None,
    "no interpreter": "#!/no/such/python\n",
    "an interpreter that finds nothing": "#!/bin/sh\nexit 1\n",
    "an interpreter that dies": "#!/bin/sh\nkill -SEGV $$\n",
}


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """A launcher in a folder of its own, which has clang."""
    runtime = tmp_path / "run"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    stock, log = make_stock(tmp_path / "project"), tmp_path / "log"
    words = [copied_launcher(tmp_path / "bin"), "--alone", "--report", str(log)]
    return Compiler(stock.directory, words, log=log)


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("more", [(), ("--whole-program",)], ids=["files", "whole program"])
def test_the_object_is_clangs_and_it_is_said_once(
    launcher: Compiler, tmp_path: Path, script: str | None, more: tuple[str, ...]
) -> None:
    if script:
        (tmp_path / "bin" / "burnish").write_text(script)
        (tmp_path / "bin" / "burnish").chmod(0o755)
    first, second = (launcher(*more, "-Oz", "-c", "sum.c", "-o", f"{name}.o") for name in "ab")
    assert (first.returncode, second.returncode, second.stderr) == (0, 0, b"")
    (line,) = first.stderr.splitlines()
    assert line.startswith(b"burnish cc: ") and b"cannot be run" in line and b"install it again" in line
    assert not launcher.run([str(tmp_path / "bin" / "clang"), "-Oz", "-c", "sum.c", "-o", "c.o"]).returncode
    files = launcher.files()
    assert files["a.o"] == files["b.o"] == files["c.o"]


def test_a_command_that_python_would_plan_is_clangs(launcher: Compiler) -> None:
    done = launcher("-Oz", "-x", "c", "-c", "sum.c", "-o", "a.o")
    assert done.returncode == 0
    assert b"cannot be run" in done.stderr
    assert "a.o" in launcher.files()


def test_a_wrong_option_is_still_an_error(launcher: Compiler, tmp_path: Path) -> None:
    write_script(tmp_path / "bin" / "burnish", "echo 'burnish cc: wrong' >&2\nexit 2")
    done = launcher("-Oz", "-c", "sum.c")
    assert (done.returncode, done.stderr) == (2, b"burnish cc: wrong\n")


def test_clangs_time_is_what_it_took_of_the_processors(
    launcher: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clang that waits costs nothing."""
    tools = tmp_path / "bin"
    clang = (tools / "clang").readlink()
    (tools / "clang").unlink()
    write_script(tools / "clang", f'sleep 0.3\nexec {clang} "$@"')
    write_script(tools / "burnish", f'echo "$2" > {tmp_path}/told')
    words = [*launcher.command, "-Oz", "-c", "sum.c"]
    monkeypatch.chdir(launcher.directory)
    _, status, used = os.wait4(os.posix_spawn(words[0], words, os.environ), 0)
    assert status == 0
    told = (tmp_path / "told").read_text()
    assert told.startswith("--compiled=")
    assert 0 < float(told.partition("=")[2]) <= used.ru_utime + used.ru_stime + 0.02  # ticks of the kernel's
