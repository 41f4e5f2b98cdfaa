"""Functions that several objects define: of each a linker keeps one object's copy."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cc import build_log
from burnish.cc.build_log import Record
from burnish.cc.commands import report
from burnish.cc.copies import change_of_groups, group_bytes, saved_once_linked
from burnish.cc.linked import Linked, read_linked
from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import Compiler, make_drop_in, make_stock

HEADER = """\
void take(int);
#define STEP take(100), take(2000), take(30000), take(41), take(500), take(6123), take(71), take(8000)
inline __attribute__((noinline)) int spread(int *p) {
  STEP;
  p[0]++;
  STEP;
  p[1]++;
  STEP;
  return p[6];
}
"""
SOURCES = ("first.cpp", "second.cpp")


def built(compiler: Compiler, header: str = HEADER) -> Compiler:
    """Compile two sources that use the same inline function."""
    (compiler.directory / "spread.h").write_text(header)
    for source in SOURCES:
        name = Path(source).stem
        text = f'#include "spread.h"\nint {name}(int *p) {{ return spread(p) + 1; }}\n'
        (compiler.directory / source).write_text(text)
    done = compiler("-Oz", "-fPIC", "-c", *SOURCES)
    assert not done.returncode, done.stderr
    return compiler


@pytest.fixture
def outlined(tmp_path: Path) -> Compiler:
    return built(make_drop_in(tmp_path / "outlined", "outline", "c++"))


@pytest.fixture
def as_clang(tmp_path: Path) -> Compiler:
    return built(make_stock(tmp_path / "stock", "c++"))


def link(compiler: Compiler) -> Path:
    words = ["-shared", "-nostdlib", "-fuse-ld=lld", "first.o", "second.o", "-o", "both.so"]
    done = compiler.run([str(find_tool("clang")), *words])
    assert not done.returncode, done.stderr
    return compiler.directory / "both.so"


def linked(compiler: Compiler) -> Linked:
    return read_linked(link(compiler))


def test_what_was_outlined_of_an_inline_function_leaves_with_its_copy(outlined: Compiler) -> None:
    assert [record["action"] for record in outlined.records()] == ["optimized"] * 2
    listed = subprocess.run(
        [find_tool("llvm-nm"), link(outlined)], capture_output=True, text=True, check=True
    )
    assert [line.split()[-1] for line in listed.stdout.splitlines()].count("outlined") == 1


def test_a_group_has_all_of_its_functions(as_clang: Compiler, outlined: Compiler) -> None:
    before, after = ((each.directory / "first.o").read_bytes() for each in (as_clang, outlined))
    (group,) = group_bytes(before)
    assert group == "_Z6spreadPi"
    change = change_of_groups(group_bytes(before), group_bytes(after))
    assert change.saved == {group: group_bytes(before)[group] - group_bytes(after)[group]}
    assert not change.elsewhere
    assert not change_of_groups(group_bytes(before), group_bytes(before)).saved
    assert outlined.records()[0]["saved_in_groups"] == change.saved


def test_what_a_linker_drops_is_not_saved(as_clang: Compiler, outlined: Compiler) -> None:
    """The objects save twice what the linked library does, but for the end of its unwind tables."""
    assert outlined.log
    records = build_log.read(outlined.log)
    saved = saved_once_linked(records)
    assert saved == pytest.approx(linked(as_clang).loaded_bytes - linked(outlined).loaded_bytes, abs=8)
    in_objects = sum((one.loaded_bytes_before or 0) - (one.loaded_bytes or 0) for one in records)
    assert saved and in_objects > 1.9 * saved > 0


def test_an_object_does_not_grow_for_an_inline_function_that_another_one_keeps(tmp_path: Path) -> None:
    """By itself each object is smaller with the one call inlined; a program with another copy is larger."""
    header = HEADER.replace("__attribute__((noinline)) ", "")
    clangs = built(make_stock(tmp_path / "stock", "c++"), header)
    inlining = built(make_drop_in(tmp_path / "inlining", "inline", "c++"), header)
    for record in inlining.records():
        assert record["action"] == "kept"
        assert "beside objects with the same inline functions" in record["reason"]
    assert linked(inlining).loaded_bytes == linked(clangs).loaded_bytes


@pytest.fixture
def in_vain(as_clang: Compiler, outlined: Compiler) -> list[Record]:
    """One object does without the inline function and has 100 bytes more; the other one keeps its copy."""
    assert outlined.log
    first, second = build_log.read(outlined.log)
    content = (as_clang.directory / "second.o").read_bytes()
    first.output_path.write_bytes(b"")
    second.output_path.write_bytes(content)
    groups, before = group_bytes(content), first.loaded_bytes_before or 0
    without = replace(first, saved_in_groups=groups, loaded_bytes=before - sum(groups.values()) + 100)
    return [without, replace(second, saved_in_groups={}, loaded_bytes=second.loaded_bytes_before)]


def test_a_function_stays_while_another_object_has_it(in_vain: list[Record]) -> None:
    assert saved_once_linked(in_vain) == -100


def test_the_report_says_what_reaches_a_program(
    outlined: Compiler, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(outlined.log), "--directory", str(outlined.directory)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "reach a program" in line]
    assert "--linked" in line


def test_the_report_says_where_a_program_gets_larger(
    in_vain: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "in_vain.jsonl"
    for record in in_vain:
        build_log.append(log, record)
    assert report.main([str(log), "--directory", str(tmp_path)]) == 0
    assert "loads about 100 bytes more" in capsys.readouterr().out


def test_the_report_is_silent_where_no_two_objects_share_a_function(
    outlined: Compiler, capsys: pytest.CaptureFixture[str]
) -> None:
    (outlined.directory / "second.o").unlink()
    assert report.main([str(outlined.log), "--directory", str(outlined.directory)]) == 0
    assert "reach a program" not in capsys.readouterr().out
