"""What other options of a build would save: each figure is that of a build with them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from burnish.cc import build_log
from burnish.cc.advice import ADVICE, measure_advice
from burnish.cc.commands import cc
from burnish.cc.commands import report as command
from burnish.cc.remaking import read_link_command, remake
from burnish.cc.requests import Attempt, Request
from burnish.cli import main
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_passes import LANGUAGE, Options, make_task

SUM = Path(__file__).parent / "project"
SEARCH = ("--search", "mixed")  # no variants of functions, which depend on the options
TRACE = ("simplifycfg<hoist-common-insts;sink-common-insts>", "clang<Oz>")  # makes sum.c smaller
MAIN = """\
#include <stdio.h>
int unused_table[100] = {1};
int unused(int x) { return printf("%d %d", x, unused_table[x]); }
__attribute__((noinline)) int twice(int x) { puts("the same"); return 2 * x + 5; }
__attribute__((noinline)) int double_of(int x) { puts("the same"); return 2 * x + 5; }
const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
                             "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", "0", "1", "2", "3", "4", "5"};
int main(int count, char **arguments) {
  (void)arguments;
  puts(names[count & 31]);
  return twice(count) + double_of(count);
}
"""


def given(bitcode: bytes, request: Request) -> Attempt:
    """Stand in for the search: the same trace for every file."""
    session = make_task(Options(level=request.level)).open(Program(request.name, LANGUAGE, bitcode))
    session.replay(TRACE)
    content = session.observe("bitcode")
    assert isinstance(content, bytes)
    return Attempt(content, TRACE, 1)


def build(directory: Path, *flags: str) -> Path:
    """Compile two files by burnish cc in a folder; return the log."""
    directory.mkdir()
    shutil.copy(SUM / "sum.c", directory)
    shutil.copy(SUM / "sum.h", directory)
    (directory / "main.c").write_text(MAIN)
    log = directory / "log.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        for name in ("main", "sum"):
            arguments = ["--report", str(log), *SEARCH, "-Oz", *flags, "-c", f"{name}.c", "-o", f"{name}.o"]
            assert cc.main(arguments, cxx=False, optimizer=given) == 0
    return log


def loaded_bytes(directory: Path, *link: str) -> int:
    """Link by lld and ask llvm-size."""
    program = directory / "linked-by-hand"
    words = [str(find_tool("clang")), "-fuse-ld=lld", "main.o", "sum.o", *link, "-o", str(program)]
    subprocess.run(words, cwd=directory, check=True, timeout=60)
    printed = subprocess.run([str(find_tool("llvm-size")), str(program)], capture_output=True, check=True)
    text, data, _ = map(int, re.findall(rb"\d+", printed.stdout)[:3])
    return text + data


def link_words() -> list[str]:
    return [str(find_tool("clang")), "-o", "program", "main.o", "sum.o"]


def test_an_object_is_made_again_as_it_was(tmp_path: Path) -> None:
    for record in build_log.read(build(tmp_path / "build")):
        assert record.action == ("optimized" if record.source == "sum.c" else "kept"), record
        again = tmp_path / "again.o"
        remake(record, lambda words: words, again)
        assert again.read_bytes() == record.output_path.read_bytes()


def test_figures_are_those_of_a_build_with_the_options(tmp_path: Path) -> None:
    log = build(tmp_path / "build")
    before = {path.name: path.read_bytes() for path in (tmp_path / "build").iterdir()}
    found = measure_advice(read_link_command(link_words(), tmp_path / "build"), build_log.read(log))
    assert {path.name: path.read_bytes() for path in (tmp_path / "build").iterdir()} == before
    assert found.remade == 2 and not found.kept
    assert found.base.loaded_bytes == loaded_bytes(tmp_path / "build")
    assert {one.advice for one in found.measured} == set(ADVICE)
    for number, one in enumerate(found.measured):
        folder = tmp_path / f"with-{number}"
        words = one.advice.options.split()
        build(folder, *(word for word in words if word.startswith("-f")))
        assert one.linked
        expected = loaded_bytes(folder, *(word for word in words if word.startswith("-Wl")))
        assert (one.advice.options, one.linked.loaded_bytes) == (one.advice.options, expected)
        assert one.saved_bytes == found.base.loaded_bytes - expected
    saved = {one.advice.options.split()[0]: one.saved_bytes for one in found.measured}
    assert saved["-fno-asynchronous-unwind-tables"] > 100
    assert saved["-ffunction-sections"] > 400  # unused_table
    assert saved["-Wl,-z,pack-relative-relocs"] > 500  # 24 bytes for each of 32 names
    assert found.together and found.together.loaded_bytes < min(
        one.linked.loaded_bytes for one in found.measured if one.linked
    )


def test_options_that_are_there_already_save_nothing(tmp_path: Path) -> None:
    log = build(
        tmp_path / "build", "-fno-asynchronous-unwind-tables", "-ffunction-sections", "-fdata-sections"
    )
    words = [*link_words(), "-Wl,--gc-sections", "-fuse-ld=lld"]
    found = measure_advice(read_link_command(words, tmp_path / "build"), build_log.read(log))
    saved = {one.advice.options.split()[0]: one.saved_bytes for one in found.measured}
    assert saved["-fno-asynchronous-unwind-tables"] == 0
    assert saved["-ffunction-sections"] == 0
    assert saved["-Wl,--icf=safe"] > 0
    assert found.as_linked == found.base


def test_objects_without_a_command_are_linked_as_they_are(tmp_path: Path) -> None:
    log = build(tmp_path / "build")
    records = [record for record in build_log.read(log) if record.source == "sum.c"]
    found = measure_advice(read_link_command(link_words(), tmp_path / "build"), records)
    assert found.remade == 1
    assert found.kept == {tmp_path / "build" / "main.o": "not in the build log"}
    nothing = measure_advice(read_link_command(link_words(), tmp_path / "build"), [])
    reasons = {one.advice.options.split()[0]: one.why_not for one in nothing.measured if not one.linked}
    assert set(reasons) == {"-fno-asynchronous-unwind-tables", "-fvisibility=hidden"}
    assert nothing.measured[0].advice.options == "-Wl,-z,pack-relative-relocs"


def test_lines_without_commands_are_still_read(tmp_path: Path) -> None:
    log = build(tmp_path / "build")
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    for row in rows:
        del row["command"]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    records = build_log.read(log)
    assert [record.command for record in records] == [(), ()]
    found = measure_advice(read_link_command(link_words(), tmp_path / "build"), records)
    assert all("build it again" in why for why in found.kept.values()) and len(found.kept) == 2


def test_hidden_symbols_of_a_library_are_no_advice(tmp_path: Path) -> None:
    log = build(tmp_path / "build", "-fPIC")
    words = [str(find_tool("clang")), "-shared", "-o", "library.so", "sum.o"]
    found = measure_advice(read_link_command(words, tmp_path / "build"), build_log.read(log))
    (hidden,) = [one for one in found.measured if one.advice.options == "-fvisibility=hidden"]
    assert hidden.linked is None and "mark the functions for others as visible" in hidden.why_not


def test_the_command_line_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = build(tmp_path / "build")
    monkeypatch.chdir(tmp_path / "build")
    assert command.main([str(log), "--advice", "--json", "--", *link_words()]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["objects_compiled_again"] == 2
    best = found["advice"][0]
    assert command.main([str(log), "--advice", "--", *link_words()]) == 0
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if f" {best['saved_bytes']:,} " in line)
    assert row.strip().startswith(best["options"].split()[0])
    assert f" {found['base_bytes'] - best['saved_bytes']:,} " in row
    assert best["gives_up"] in shown
    assert not (tmp_path / "build" / "program").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "after --"),
        (["ld.lld", "main.o"], "a compiler that calls the linker"),
        (["clang", "-c", "main.c"], "compiles"),
        (["clang", "main.c", "-o", "a"], "compiles"),
        (["clang", "-o", "a", "missing.o"], "no object that exists"),
    ],
)
def test_other_commands_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "main.o").touch()
    with pytest.raises(InputError, match=message):
        read_link_command(words, tmp_path)


def test_a_link_that_fails_says_why(tmp_path: Path) -> None:
    log = build(tmp_path / "build")
    words = [str(find_tool("clang")), "-o", "program", "sum.o"]
    with pytest.raises(InputError, match="main"):
        measure_advice(read_link_command(words, tmp_path / "build"), build_log.read(log))


def test_a_log_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.o").touch()
    words = ["clang", "-o", "program", str(tmp_path / "a.o")]
    assert main(["report", str(tmp_path / "missing"), "--advice", "--", *words]) == 2
    assert "missing: no build log" in capsys.readouterr().err


def test_a_command_needs_advice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--", "clang", "-o", "a", "a.o"]) == 2
    assert "only --advice takes a command after --" in capsys.readouterr().err
