"""Programs that burnish builds start: their C++ library and unwinder are found."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from burnish.cc.commands.launch import find_launcher
from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import write_script

HELLO = """\
#include <iostream>
#include <stdexcept>
int main() {
  try { throw std::runtime_error("hello"); }
  catch (const std::exception &error) { std::cout << error.what() << std::endl; }
}
"""

CLEANUP = """\
#include <stdio.h>
static void said(int *value) { printf("%d\\n", *value); }
extern void other(void);
int main(void) {
  __attribute__((cleanup(said))) int value = 3;
  other();
  return 0;
}
"""


def run(directory: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def build(directory: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    log = directory / "log"
    return run(directory, find_launcher(f"burnish-{name}"), "--report", str(log), *arguments)


def needed(program: Path) -> str:
    return run(program.parent, "readelf", "-d", str(program)).stdout


def test_a_cxx_program_starts(tmp_path: Path) -> None:
    (tmp_path / "hello.cc").write_text(HELLO)
    done = build(tmp_path, "c++", "hello.cc")
    assert (done.returncode, done.stderr) == (0, "")
    assert run(tmp_path, "./a.out").stdout == "hello\n"


def test_objects_and_programs_agree_on_the_library(tmp_path: Path) -> None:
    """C++ that the C compiler compiled, by its name, links with what the C++ compiler links."""
    (tmp_path / "hello.cc").write_text(HELLO)
    done = build(tmp_path, "cc", "-c", "-Wall", "-Werror", "hello.cc")
    assert (done.returncode, done.stderr) == (0, "")
    assert build(tmp_path, "c++", "hello.o", "-o", "hello").stderr == ""
    assert run(tmp_path, "./hello").stdout == "hello\n"


def test_the_c_compiler_links_what_lstdcxx_names(tmp_path: Path) -> None:
    """As in Bazel's links; clang takes its own default for the option."""
    (tmp_path / "hello.cc").write_text(HELLO)
    assert build(tmp_path, "c++", "-c", "hello.cc").stderr == ""
    assert build(tmp_path, "cc", "hello.o", "-lstdc++", "-o", "hello").stderr == ""
    assert run(tmp_path, "./hello").stdout == "hello\n"


def test_a_c_program_that_unwinds_starts(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(CLEANUP)
    (tmp_path / "other.c").write_text("void other(void) {}\n")
    assert build(tmp_path, "cc", "-fexceptions", "main.c", "other.c").stderr == ""
    assert run(tmp_path, "./a.out").stdout == "3\n"


def test_nothing_is_said_about_it(tmp_path: Path) -> None:
    (tmp_path / "hello.cc").write_text(HELLO)
    for arguments in (["-c"], ["-E", "-o", "x.ii"], ["-fsyntax-only"], ["-S"]):
        done = build(tmp_path, "c++", "-Wall", "-Werror", "hello.cc", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_users_choice_holds(tmp_path: Path) -> None:
    (tmp_path / "hello.cc").write_text(HELLO)
    assert build(tmp_path, "c++", "-stdlib=libc++", "hello.cc", "-o", "theirs").stderr == ""
    assert "libc++.so" in needed(tmp_path / "theirs")
    assert build(tmp_path, "c++", "hello.cc", "-o", "ours").stderr == ""
    assert "libc++.so" not in needed(tmp_path / "ours")


def test_without_the_systems_library_programs_find_clangs(tmp_path: Path) -> None:
    (tmp_path / "hello.cc").write_text(HELLO)
    (tmp_path / "empty").mkdir()
    hide = f"[ ! -d $folder ] || mount --bind {tmp_path}/empty $folder"
    hidden = f"for folder in /usr/lib/gcc /usr/lib64/gcc; do {hide}; done"
    if run(tmp_path, "unshare", "-rm", "sh", "-c", hidden).returncode:
        pytest.skip("this user may not hide the system's library")
    compiler = find_launcher("burnish-c++")
    line = f"{hidden}; {compiler} --report log hello.cc && ./a.out; {compiler} --help"
    done = run(tmp_path, "unshare", "-rm", "sh", "-ec", line)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("hello\n")
    assert "clang's own libc++ in " in done.stdout


def test_help_says_which(tmp_path: Path) -> None:
    assert "The C++ library, unless" in build(tmp_path, "c++", "--help").stdout


def test_the_first_command_of_a_new_environment_finds_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """clang's links are made only when the environment's Python starts."""
    tools = tmp_path / "bin"
    tools.mkdir()
    shutil.copy(find_launcher("burnish-c++"), tools)
    links = [f"ln -s {find_tool('clang++')} {tools}/clang++", f"ln -s {find_tool('clang')} {tools}/clang"]
    write_script(tools / "python", "\n".join(links))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "hello.cpp").write_text(HELLO)
    made = run(tmp_path, str(tools / "burnish-c++"), "-O2", "hello.cpp", "-o", "hello")
    assert (made.returncode, made.stderr) == (0, "")
    assert run(tmp_path, "./hello").stdout == "hello\n"
