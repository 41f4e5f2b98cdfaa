"""Where burnish has nothing to do, `burnish cc` is clang: the same files, output and exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cc.conftest import Compiler, make_drop_in, make_stock

UNTOUCHED = {
    "preprocess": "-E sum.c",
    "preprocess to a file": "-E sum.c -o sum.i",
    "assemble": "-S -Oz sum.c",
    "bitcode": "-emit-llvm -Oz -c sum.c",
    "dependencies": "-M sum.c",
    "own dependencies": "-MM sum.c -MF sum.d",
    "syntax": "-fsyntax-only warns.c -Wall",
    "O2": "-c -O2 sum.c -o sum.o",
    "O0": "-c sum.c",
    "O3 and dependencies": "-c -O3 -MD sum.c",
    "assembler": "-Oz -c start.s",
    "preprocessed assembler": "-Oz -c start.S",
    "response file": "@arguments.rsp",
    "several sources": "-O1 -c sum.c rows.c",
    "program": "-O2 main.c sum.c rows.c shape.cpp -fno-rtti -nostdlib++ -o program",
    "program with assembler": "-O2 -shared -fPIC sum.c start.S -o program.so",
    "error": "-c -Oz broken.c",
    "error and dependencies": "-c -Oz -MD broken.c sum.c",
    "no such file": "-c missing.c",
    "no such option": "-c sum.c --no-such-option",
    "nothing": "",
    "version": "--version",
    "verbose": "-v -O2 -c sum.c",
    "machine": "-dumpmachine",
    "plan": "-### --version",
    "missing symbols": "-Oz main.c -o program",
    "unused linker flag": "-Oz -c warns.c -Wall -lm -Wl,-z,now",
    "warning": "-Oz -c warns.c -Wall",
    "warning as error": "-Oz -c warns.c -Wall -Werror",
    "diagnostics file": "-Oz -c warns.c -Wall --serialize-diagnostics w.dia",
    "headers": "-Oz -c sum.c -H",
    "compilation database": "-Oz -c sum.c -MJ sum.json",
    "kept temporaries": "-Oz -c sum.c -save-temps",
    "null device": "-Oz -c sum.c -o /dev/null",
    "object on standard output": "-Oz -c sum.c -o -",
    "link-time optimization": "-O2 -c sum.c -flto",
    "sanitizer": "-Oz -c sum.c -fsanitize=undefined",
    "coverage": "-Oz -c sum.c --coverage",
    "profile": "-Oz -c sum.c -fprofile-generate",
    "LLVM option": "-Oz -c sum.c -mllvm -inline-threshold=0",
    "separate debug information": "-Oz -c sum.c -g -gsplit-dwarf -fdebug-compilation-dir=.",
    "stack usage": "-Oz -c sum.c -fstack-usage",
    "help of clang": "-- --help",
}


@pytest.mark.parametrize("arguments", UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_the_same_as_clang(tmp_path: Path, arguments: str) -> None:
    clang = make_stock(tmp_path / "project")
    theirs = clang(*arguments.removeprefix("-- ").split())
    clang.directory = clang.directory.rename(
        tmp_path / "clang"
    )  # objects may name it: both build in one place
    burnish = make_drop_in(tmp_path / "project", "like_clang")
    ours = burnish(*arguments.split())
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)
    assert _plain(ours.stderr) == _plain(theirs.stderr)
    assert burnish.files() == clang.files()


@pytest.mark.parametrize("language", ["cc", "c++"])
def test_the_language_is_the_drivers(tmp_path: Path, language: str) -> None:
    theirs, ours = make_stock(tmp_path / "1", language), make_drop_in(tmp_path / "2", "like_clang", language)
    for compiler in (theirs, ours):
        compiler("-xc++", "-E", "-dM", "sum.h", "-o", "macros")
        compiler("-###", "sum.c")
    assert theirs.files() == ours.files()


def test_standard_input_is_clangs(clang: Compiler, shrink: Compiler) -> None:
    source = (clang.directory / "sum.c").read_bytes()
    for compiler in (clang, shrink):
        assert not compiler("-Oz", "-c", "-xc", "-", "-o", "sum.o", stdin=source).returncode
    assert shrink.files() == clang.files()
    assert shrink.records()[0]["reason"] == "the program was read from standard input"


def test_an_old_object_goes_where_clang_removes_it(clang: Compiler, like_clang: Compiler) -> None:
    for compiler in (clang, like_clang):
        (compiler.directory / "broken.o").write_text("old")
        assert compiler("-Oz", "-c", "broken.c").returncode == 1
    assert like_clang.files() == clang.files()


def test_a_crash_of_clang_is_clangs(
    clang: Compiler, like_clang: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(clang.directory))  # where clang leaves its crash report
    for compiler in (clang, like_clang):
        (compiler.directory / "crash.c").write_text("int a;\n#pragma clang __debug crash\n")
    theirs, ours = clang("-Oz", "-c", "crash.c"), like_clang("-Oz", "-c", "crash.c")
    assert theirs.returncode
    assert ours.returncode == theirs.returncode


def test_a_configure_script_finds_what_it_finds_with_clang(clang: Compiler, like_clang: Compiler) -> None:
    check = """
    try() { # name, program, arguments: as autoconf does, silence counts
      printf '%s' "$2" > conftest.c
      shift_name=$1; program=$2; shift 2
      if $CC "$@" conftest.c -o conftest 2> conftest.err && test ! -s conftest.err
      then echo "$shift_name yes"; else echo "$shift_name no"; fi
      rm -f conftest conftest.err
    }
    try works 'int main(void) { return 0; }' -Oz
    try header '#include <stdio.h>
    int main(void) { return 0; }' -Oz
    try missing-header '#include <no_such.h>
    int main(void) { return 0; }' -Oz
    try function 'int strlen(); int main(void) { return strlen(); }' -Oz
    try missing-function 'int no_such(); int main(void) { return no_such(); }' -Oz
    try option 'int main(void) { return 0; }' -Oz -fno-common -Werror
    try missing-option 'int main(void) { return 0; }' -Oz -fno-such-option
    try flag 'int main(void) { return 0; }' -Oz -Wl,--gc-sections
    echo 'int sized[sizeof(long) == 8 ? 1 : -1];' > conftest.c; $CC -c conftest.c && echo 64
    printf 'main' | $CC -E -dM -xc - | grep -c __OPTIMIZE__
    $CC --version | sed 1q
    """
    found = [
        compiler.run(["sh", "-c", check.replace("$CC", " ".join(compiler.command))])
        for compiler in (clang, like_clang)
    ]
    assert found[1].stdout == found[0].stdout
    assert b"works yes" in found[0].stdout
    assert b"missing-option no" in found[0].stdout


def _plain(errors: bytes) -> bytes:
    """Leave out the random names of temporary files."""
    return re.sub(rb"-[0-9a-f]{6,}\.", b"-X.", errors)
