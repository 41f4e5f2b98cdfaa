"""What burnish does to the objects of -Os and -Oz compilations."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc.object_trials import offered_symbols
from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import Compiler, make_drop_in


def text_bytes(path: Path) -> int:
    return int(_native.object_sizes(path.read_bytes()).text_bytes)


def section_table(path: Path) -> str:
    command = [str(find_tool("llvm-readelf")), "-S", "-W", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def sections(path: Path) -> set[str]:
    return {word for word in section_table(path).split() if word.startswith(".")}


def test_an_object_gets_smaller(clang: Compiler, shrink: Compiler) -> None:
    for compiler in (clang, shrink):
        compiler("-Os", "-c", "sum.c")
    before, after = (text_bytes(compiler.directory / "sum.o") for compiler in (clang, shrink))
    assert after < before
    (record,) = shrink.records()
    assert record["action"] == "optimized"
    assert (record["text_bytes_before"], record["text_bytes"]) == (before, after)
    assert (record["source"], record["output"], record["level"]) == ("sum.c", "sum.o", "Os")
    assert record["trace"][0] == "clang<Os;inline-threshold=0>"


@pytest.mark.parametrize(("optimizer", "crashes"), [("shrink", 0), ("crashing", 2), ("only_crashing", 3)])
def test_crashes_in_a_search_are_recorded(tmp_path: Path, optimizer: str, crashes: int) -> None:
    compiler = make_drop_in(tmp_path / "project", optimizer)
    assert compiler("-Os", "-c", "sum.c").returncode == 0
    (record,) = compiler.records()
    assert record["crashes"] == crashes


@pytest.mark.parametrize(
    ("optimizer", "reason", "options"),
    [
        ("refused", "would not be as clang defines it", ()),
        ("not_generated", "failed", ()),
        ("no_smaller", "IR instructions, clang's has", ("--objective", "ir-instructions")),
    ],
)
def test_counts_of_a_search_are_recorded_where_clangs_object_stays(
    tmp_path: Path, optimizer: str, reason: str, options: tuple[str, ...]
) -> None:
    compiler = make_drop_in(tmp_path / "project", optimizer, "cc", *options)
    assert compiler("-Os", "-c", "sum.c").returncode == 0
    (record,) = compiler.records()
    assert reason in record["reason"]
    assert (record["action"], record["evaluations"], record["crashes"]) == ("kept", 7, 3)


def test_nothing_is_printed(tmp_path: Path) -> None:
    chatter = make_drop_in(tmp_path / "project", "chatter")
    done = chatter("-Os", "-c", "sum.c")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert chatter.records()[0]["action"] == "optimized"


def test_a_warning_appears_once(shrink: Compiler) -> None:
    done = shrink("-Os", "-Wall", "-c", "warns.c", "sum.c")
    assert done.stderr.count(b"unused variable") == 1


@pytest.mark.parametrize("options", ["-MD", "-MMD -MP", "-MD -MF there.d -MT goal", "-Wp,-MD,there.d"])
def test_dependency_files_are_clangs(clang: Compiler, shrink: Compiler, options: str) -> None:
    for compiler in (clang, shrink):
        compiler("-Os", "-c", "sum.c", *options.split())
    theirs, ours = clang.files(), shrink.files()
    assert theirs.pop("sum.o") != ours.pop("sum.o")
    assert ours == theirs


@pytest.mark.parametrize(
    "failing",
    ["like_clang", "grow", "drop_everything", "fail", "crash", "empty", "garbage", "nothing"],
)
def test_a_failing_optimizer_leaves_clangs_object(tmp_path: Path, clang: Compiler, failing: str) -> None:
    ours = make_drop_in(tmp_path / "ours", failing)
    done = ours("-Os", "-c", "sum.c", "rows.c")
    clang("-Os", "-c", "sum.c", "rows.c")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert ours.files() == clang.files()
    assert [record["action"] for record in ours.records()] == ["kept", "kept"]
    assert all(record["reason"] for record in ours.records())


def test_debug_information_stays(shrink: Compiler) -> None:
    shrink.optimize("-Os", "-g", "-c", "sum.c")
    dump = subprocess.run(
        [find_tool("llvm-dwarfdump"), "--debug-info", "--verify", shrink.directory / "sum.o"],
        capture_output=True,
    )
    assert dump.returncode == 0, dump.stdout
    assert {".debug_info", ".debug_line"} <= sections(shrink.directory / "sum.o")


def test_code_generation_options_hold(shrink: Compiler) -> None:
    shrink.optimize("-Os", "-ffunction-sections", "-fno-asynchronous-unwind-tables", "-c", "sum.c")
    found = sections(shrink.directory / "sum.o")
    assert {".text.sum", ".text.either"} <= found
    assert ".eh_frame" not in found


def test_options_of_the_code_generator_hold(shrink: Compiler) -> None:
    """-mllvm reaches the code generation of burnish's object as that of clang's."""
    shrink.optimize("-Os", "-mllvm", "-align-all-functions=6", "-c", "sum.c")
    listed = section_table(shrink.directory / "sum.o")
    (text,) = [line.split() for line in listed.splitlines() if " .text " in line]
    assert text[-1] == "64"


def test_a_recorded_command_line_is_the_users(shrink: Compiler) -> None:
    shrink.optimize("-Os", "-frecord-command-line", "-c", "sum.c")
    content = (shrink.directory / "sum.o").read_bytes()
    assert b" -Os -frecord-command-line -c sum.c" in content
    assert b"-###" not in content


def test_an_object_that_clang_did_not_write_is_not_touched(shrink: Compiler) -> None:
    shrink("-O2", "-c", "sum.c")
    old = (shrink.directory / "sum.o").read_bytes()
    shrink("-Oz", "-c", "sum.c", "-Xclang", "-fsyntax-only")
    assert (shrink.directory / "sum.o").read_bytes() == old
    assert len(shrink.records()) == 1


def test_permissions_stay(shrink: Compiler) -> None:
    mask = os.umask(0o027)
    try:
        shrink("-Os", "-c", "sum.c")
    finally:
        os.umask(mask)
    assert shrink.records()[0]["action"] == "optimized"
    assert stat.S_IMODE((shrink.directory / "sum.o").stat().st_mode) == 0o640


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "Og"])
def test_speed_levels_need_an_objective(tmp_path: Path, shrink: Compiler, level: str) -> None:
    shrink(f"-{level}", "-c", "sum.c")
    (record,) = shrink.records()
    assert (record["action"], record["level"]) == ("passed through", level)
    assert "no objective for speed yet" in record["reason"]
    assert record["text_bytes"] == record["text_bytes_before"] > 0
    asked = make_drop_in(tmp_path / "asked", "shrink", "cc", "--objective", "text-bytes")
    asked(f"-{level}", "-c", "sum.c")
    (record,) = asked.records()
    assert record["action"] in ("optimized", "kept")
    assert "failed" not in record["reason"]
    assert text_bytes(asked.directory / "sum.o") <= text_bytes(shrink.directory / "sum.o")


def test_fewer_instructions_never_cost_bytes(tmp_path: Path, clang: Compiler) -> None:
    clang("-O2", "-c", "sum.c")
    ours = make_drop_in(tmp_path / "ours", "shrink", "cc", "--objective=ir-instructions")
    ours("-O2", "-c", "sum.c")
    assert ours.records()[0]["action"] == "optimized"
    assert text_bytes(ours.directory / "sum.o") <= text_bytes(clang.directory / "sum.o")
    same = make_drop_in(tmp_path / "same", "like_clang", "cc", "--objective=ir-instructions")
    same("-O2", "-c", "sum.c")
    assert "IR instructions" in same.records()[0]["reason"]


def test_several_sources_are_several_objects(shrink: Compiler) -> None:
    shrink("-Os", "-c", "sum.c", "rows.c", "start.S")
    assert [record["output"] for record in shrink.records()] == ["start.o", "sum.o", "rows.o"]
    assert shrink.records()[0]["reason"] == "assembly has no passes to choose"


def test_a_response_file_is_read(shrink: Compiler) -> None:
    shrink.optimize("@arguments.rsp", "-Os")


def test_preprocessed_source_and_bitcode_are_sources(shrink: Compiler) -> None:
    shrink("-E", "sum.c", "-o", "sum.i")
    shrink("-Os", "-c", "sum.i")
    shrink("-Os", "-emit-llvm", "-c", "sum.c", "-Xclang", "-disable-llvm-passes")
    shrink("-Os", "-c", "sum.bc", "-o", "bc.o")
    assert [(record["source"], record["action"]) for record in shrink.records()] == [
        ("sum.i", "optimized"),
        ("sum.bc", "optimized"),
    ]


def test_a_precompiled_header_is_read(shrink: Compiler) -> None:
    shrink("-Os", "-xc-header", "sum.h", "-o", "sum.h.pch")
    shrink("-Os", "-include", "sum.h", "-c", "sum.c")
    assert [record["action"] for record in shrink.records()] == ["passed through", "optimized"]


def test_a_program_is_linked_from_the_smaller_objects(
    tmp_path: Path, clang: Compiler, shrink: Compiler
) -> None:
    sources = ("main.c", "sum.c", "rows.c", "start.S", "shape.cpp")
    options = ("-Os", "-fno-rtti", "-nostdlib++", "-o", "program", "-Wl,-Map=program.map")
    for compiler in (clang, shrink):
        done = compiler(*sources, *options)
        assert (done.returncode, done.stderr) == (0, b"")
    printed = [compiler.run(["./program"]).stdout for compiler in (clang, shrink)]
    assert printed[0] == printed[1] != b""
    actions = {record["source"]: record["action"] for record in shrink.records()}
    assert actions.keys() == {"main.c", "sum.c", "rows.c", "shape.cpp"}
    assert actions["sum.c"] == "optimized"
    assert {record["output"] for record in shrink.records()} == {"program"}
    assert text_bytes(shrink.directory / "program") < text_bytes(clang.directory / "program")
    assert clang.files().keys() == shrink.files().keys()


@pytest.mark.parametrize("optimizer", ["like_clang", "shrink"])
def test_make_builds_a_project_in_parallel(tmp_path: Path, clang: Compiler, optimizer: str) -> None:
    ours = make_drop_in(tmp_path / "ours", optimizer)
    cc = " ".join(ours.command)
    built_by = [
        (clang, [f"CC={find_tool('clang')}", f"CXX={find_tool('clang++')}"]),
        (ours, [f"CC={cc}", f"CXX={cc.replace(f'{optimizer} cc', f'{optimizer} c++')}"]),
    ]
    flags = ["CFLAGS=-Os", "CXXFLAGS=-Os -fno-rtti -fno-exceptions", f"AR={find_tool('llvm-ar')}"]
    for compiler, variables in built_by:
        built = compiler.run(["make", "-j2", *variables, *flags])
        assert (built.returncode, built.stderr) == (0, b""), built
    assert ours.run(["./program"]).stdout == clang.run(["./program"]).stdout != b""
    assert len(ours.records()) == 4
    theirs, mine = clang.files(), ours.files()
    assert mine.keys() == theirs.keys()
    for name in theirs:
        if optimizer == "like_clang" or name.endswith(".d"):
            assert mine[name] == theirs[name], name
        elif name.endswith(".o"):
            assert text_bytes(ours.directory / name) <= text_bytes(clang.directory / name)
            assert offered_symbols(mine[name]) == offered_symbols(theirs[name])


def test_no_temporary_files_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shrink: Compiler
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    shrink("-Os", "-c", "sum.c")
    shrink("-Os", "-c", "broken.c")
    shrink("-Os", "-shared", "-fPIC", "rows.c", "sum.c", "-o", "sum.so")
    assert not list(temporary.iterdir())
