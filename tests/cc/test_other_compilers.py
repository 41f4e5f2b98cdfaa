"""Compilers that a command names: another clang instead of burnish's, and the system's GCC."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from burnish.cc.commands.launch import find_launcher
from burnish.cc.jobs import parse_plan
from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import make_drop_in, make_stock, write_script

OLDER = next((f"clang-{version}" for version in range(13, 23) if shutil.which(f"clang-{version}")), "")
MAIN = """
#include <stddef.h>
#include <stdio.h>
int rows(const int *values, int count);
int main(void) {
  int values[] = {4, 1, 3};
  return printf("%d %d %d\\n", VERSION, (int)sizeof(size_t), rows(values, 3)) < 0;
}
"""


def other_clang(folder: Path, *, version: str = "") -> str:
    """Make another clang: burnish's own by a script, which may say another version."""
    real, change = find_tool("clang"), f"sed 's/clang version [0-9.]*/clang version {version}/' >&2"
    if version:
        text = f'case "$1" in -\\#*) {real} "$@" 2>&1 | {change} ;; *) exec {real} "$@" ;; esac'
    else:
        text = f'echo "$@" >> {folder}/commands; exec {real} "$@"'
    write_script(folder / "vendor-clang", text)
    return str(folder / "vendor-clang")


def test_its_objects_become_smaller_by_burnishs_back_end(tmp_path: Path) -> None:
    clang = other_clang(tmp_path)
    compiler = make_drop_in(tmp_path / "other", "shrink", "cc", "--clang", clang)
    done = compiler("-Os", "-c", "rows.c", "sum.c")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "optimized" in {row["action"] for row in compiler.records()}
    assert "-Os -c rows.c sum.c" in (tmp_path / "commands").read_text()
    (compiler.directory / "main.c").write_text(MAIN)
    programs = []
    for files in (("rows.o", "sum.o"), ("rows.c", "sum.c")):
        command = ["cc", "-DVERSION=1", "main.c", *files, "-o", "program"]
        assert compiler.run(command).returncode == 0
        programs.append(compiler.run(["./program"]).stdout)
    assert programs[0] == programs[1] != b""


def test_one_that_is_newer_is_an_error(tmp_path: Path) -> None:
    clang = other_clang(tmp_path, version="99.1.0")
    compiler = make_drop_in(tmp_path / "newer", "shrink", "cc", "--clang", clang)
    done = compiler("-Oz", "-c", "rows.c")
    (line,) = done.stderr.decode().splitlines()
    assert done.returncode == 2
    assert line.startswith(f"burnish cc: --clang {clang}: its version is 99.1.0, and burnish reads bitcode")


@pytest.mark.skipif(not OLDER, reason="needs an older clang: apt-get install clang-14")
def test_an_older_one_has_its_own_headers(tmp_path: Path) -> None:
    launcher = make_stock(tmp_path / "older")
    launcher.log = tmp_path / "log"
    launcher.command = [
        find_launcher("burnish-cc"),
        "--budget",
        "4 evaluations",
        "--report",
        f"{launcher.log}",
    ]
    (launcher.directory / "main.c").write_text(MAIN)
    words = ("-Oz", "-DVERSION=__clang_major__", "main.c", "rows.c", "sum.c")
    for name, way in (("named", (OLDER,)), ("option", ("--clang", OLDER))):
        done = launcher("--alone", *way, *words, "-o", name)
        assert (done.returncode, done.stderr) == (0, b"")
        assert launcher.run([f"./{name}"]).stdout.startswith(OLDER.removeprefix("clang-").encode())
    assert {row["compiler"].partition(".")[0] for row in launcher.records()} == {OLDER.replace("-", " ")}
    assert not any("back end" in row["reason"] or "fail" in row["reason"] for row in launcher.records())


def test_what_a_driver_adds_for_messages_is_left_out() -> None:
    plan = parse_plan(
        'clang version 14.0.6\n "clang" "-cc1" "-emit-obj" "-mllvm" '
        '"-treat-scalable-fixed-error-as-warning" "-Oz" "-o" "a.o" "a.c"\n'
    )
    assert plan and plan.jobs[0].command == ("clang", "-cc1", "-emit-obj", "-Oz", "-o", "a.o", "a.c")


@pytest.mark.parametrize("compiler", ["gcc", "/usr/bin/cc", str(find_tool("clang")), "x86_64-linux-gnu-gcc"])
def test_the_first_word_may_name_the_compiler(tmp_path: Path, compiler: str) -> None:
    """CMake's launchers get it so."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    launcher = make_stock(tmp_path / "files")
    launcher.command = [find_launcher("burnish-cc"), "--alone", "--report", f"{tmp_path}/log", compiler]
    done = launcher("-Wall", "-Werror", "-Os", "-c", "rows.c", "-o", "rows.o")
    assert (done.returncode, done.stderr) == (0, b"")
    assert launcher("rows.o", "-r", "-o", "more.o").returncode == 0
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    assert launcher("--version").stdout.splitlines()[0] == version.splitlines()[0]


def test_a_compiler_that_is_not_there(tmp_path: Path) -> None:
    for words in (("--clang", "no-such-clang"), ("no-such-clang",), ("no-such-gcc",)):
        done = subprocess.run(
            [find_launcher("burnish-cc"), *words, "-c", "a.c"], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr.startswith(f"burnish cc: {words[-1]}: no such compiler in PATH".encode())
