"""burnish's back end writes what clang's does, told by the same command line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc.back_end import back_end_of
from burnish.cc.jobs import ClangJob, make_plan
from burnish.llvm.toolchain import find_tool
from tests.sources import DATA

OPTIONS = {
    "plain": "-Oz",
    "sections": "-Oz -ffunction-sections -fdata-sections -fno-unique-section-names",
    "debug": "-g -O2 -fstack-protector-strong",
    "lines": "-Os -g1",
    "lldb": "-O1 -glldb -ffunction-sections",
    "at-one-address": "-Oz -fno-pic -fno-pie -mcmodel=medium",
    "zeros": "-Os -fno-zero-initialized-in-bss",
    "fast": "-fPIC -O3 -march=haswell -ffast-math -fno-plt",
    "no-tables": "-Oz -fno-asynchronous-unwind-tables -fno-addrsig -fno-omit-frame-pointer",
    "unoptimized": "-O0 -g",
}
SOURCES = ("behave.c", "classes.cpp", "matrix.c", "machine.c")


def job_of(source: Path, options: str, folder: Path) -> ClangJob:
    """Return clang's compilation of a source."""
    clang = find_tool("clang++" if source.suffix == ".cpp" else "clang")
    plan = make_plan(clang, [*options.split(), "-w", "-c", str(source), "-o", str(folder / "own.o")])
    assert plan
    (job,) = plan.compilations
    return job


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_objects_are_clangs_byte_for_byte(source: str, options: str, tmp_path: Path) -> None:
    job = job_of(DATA / source, options, tmp_path)
    bitcode, expected = tmp_path / "own.bc", tmp_path / "clang.o"
    subprocess.run(job.clang_bitcode(bitcode).command, check=True)
    subprocess.run(job.code_generation(bitcode, expected).command, check=True)
    back_end = back_end_of(job)
    assert back_end
    assert _native.Module(bitcode.read_bytes()).emit_object(back_end) == expected.read_bytes()


@pytest.mark.parametrize("option", ["-mllvm -enable-misched=0", "-g -gsplit-dwarf"])
def test_what_burnish_cannot_be_told_is_left_to_clang(option: str, tmp_path: Path) -> None:
    assert back_end_of(job_of(DATA / "behave.c", f"-Oz {option}", tmp_path)) is None


def test_unknown_debugger_is_an_error() -> None:
    back_end = _native.BackEnd()
    back_end.debugger = "other"
    module = _native.Module(b"define void @f() { ret void }")
    with pytest.raises(_native.PipelineError, match="unknown debugger 'other': expected gdb, lldb"):
        module.emit_object(back_end)
