"""burnish cc decides the code of functions where its back end writes what clang's does."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc import build_log, machine_code
from burnish.cc.back_end import emit_described
from burnish.cc.commands import cc
from burnish.cc.file_budget import FileBudget
from burnish.cc.foreign import after_level
from burnish.cc.machine_code import Generated, decide
from burnish.cc.optimizer import optimize
from burnish.cc.remaking import remake
from burnish.cc.repeating import BEGIN, split_code
from burnish.cc.requests import DriverOptions, KeptReference, default_memory
from burnish.core.errors import UnknownName
from burnish.core.program import Program
from burnish.llvm.modules.session import open_session
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_codegen.generations import Decided, Generations
from tests.cc.conftest import Compiler, make_drop_in
from tests.cc.requests import request_of
from tests.cc.test_back_end import job_of
from tests.core.test_clock import CountedClock
from tests.loaded_code import loaded_code
from tests.sources import DATA

SEARCHED = (  # with a search of passes that the user asks for, no variants are searched
    *("--code-generation", "searched", "--budget", "60 evaluations", "--speed-limit", "none"),
    *("--search", "mixed"),
)


@pytest.fixture
def searching(tmp_path: Path) -> Callable[[str], Compiler]:
    """Return a drop-in compiler with a stand-in for the search of passes, and the real one for code."""

    def make(optimizer: str) -> Compiler:
        made = make_drop_in(tmp_path / optimizer, optimizer, "cc", *SEARCHED)
        shutil.copy(DATA / "behave.c", made.directory)
        return made

    return make


def output_of(directory: Path, clang_object: str) -> tuple[int, bytes]:
    program = directory / "program"
    subprocess.run([find_tool("clang"), clang_object, "-o", program], cwd=directory, check=True)
    done = subprocess.run([program, "work", "1000"], capture_output=True, check=False)
    return done.returncode, done.stdout


def test_functions_get_smaller_without_passes(searching: Callable[[str], Compiler]) -> None:
    compiler = searching("fail")
    assert compiler("-Oz", "-ffunction-sections", "-c", "behave.c").returncode == 0
    (record,) = compiler.records()
    assert (record["action"], record["reason"]) == ("optimized", "")
    assert record["loaded_bytes"] < record["loaded_bytes_before"]
    begin, *code = record["trace"]
    assert begin == BEGIN
    assert code
    subprocess.run([find_tool("clang"), "-Oz", "-c", "behave.c", "-o", "own.o"], cwd=compiler.directory)
    assert output_of(compiler.directory, "behave.o") == output_of(compiler.directory, "own.o")


def test_functions_get_smaller_after_passes(searching: Callable[[str], Compiler]) -> None:
    compiler = searching("shrink")
    assert compiler("-Os", "-c", "sum.c").returncode == 0
    (record,) = compiler.records()
    assert record["action"] == "optimized"
    assert record["trace"].index(BEGIN) == 2  # the stand-in's own are before


def test_the_same_is_decided_with_debug_information(searching: Callable[[str], Compiler]) -> None:
    compiler = searching("shrink")
    codes = []
    for options in ((), ("-g",)):
        assert compiler("-Os", "-ffunction-sections", *options, "-c", "sum.c").returncode == 0
        codes.append(loaded_code((compiler.directory / "sum.o").read_bytes()))
    plain, described = compiler.records()
    assert BEGIN in plain["trace"]
    assert (described["trace"], described["evaluations"]) == (plain["trace"], plain["evaluations"])
    assert codes[0] == codes[1]
    assert b".debug_info" in (compiler.directory / "sum.o").read_bytes()


def test_what_burnish_does_not_write_alike_is_left_to_clang(searching: Callable[[str], Compiler]) -> None:
    compiler = searching("fail")
    compiler("-Oz", "-mllvm", "-enable-misched=0", "-c", "behave.c")
    (record,) = compiler.records()
    assert record["action"] == "kept"
    assert record["reason"].endswith(
        "code generation is left to clang, whose options burnish's does not take"
    )


def test_passes_alone_are_kept_where_code_is_left_to_clang(searching: Callable[[str], Compiler]) -> None:
    compiler = searching("shrink")
    compiler("-Os", "-g", "-gz", "-c", "sum.c")
    (record,) = compiler.records()
    assert record["action"] == "optimized"
    assert BEGIN not in record["trace"]


def test_a_budget_is_divided() -> None:
    request = replace(request_of("a.c"), seconds=10.0, clock=CountedClock(100.0))
    seconds = [one and one.until for one in request.divided()]
    assert seconds == pytest.approx([104.0, 110.0])
    counted = replace(request_of("a.c"), evaluations=10).divided()
    assert [one and (one.evaluations, one.until) for one in counted] == [(4, None), (6, None)]
    remembered = request_of("a.c", budget=FileBudget(remembered=True))
    assert remembered.divided() == (remembered, remembered)
    passes_alone = replace(request, code_share=0.0)
    assert passes_alone.divided() == (passes_alone, None)


@pytest.fixture
def generated(tmp_path: Path) -> Generated:
    """Return a module after clang's own passes, with all that is known of it."""
    job = job_of(DATA / "behave.c", "-Oz", tmp_path)
    front = tmp_path / "front.bc"
    subprocess.run(job.front_end(front).command, check=True)
    bitcode = after_level(front.read_bytes(), "Oz")
    emitted = emit_described(bitcode, job)
    return Generated(
        bitcode, front.read_bytes(), emitted.code, job.command, emitted.code, emitted.calls, "", emitted
    )


def test_a_short_search_generates_no_code_that_is_known(
    generated: Generated, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Decided] = []
    generate = Generations.generate

    def counted(self: Generations, decided: Decided) -> object:
        asked.append(decided)
        return generate(self, decided)

    monkeypatch.setattr(Generations, "generate", counted)
    request = replace(request_of("behave.c", speed_limit=1.3), short_code=True, until=0.0)
    found = decide(generated, request)
    assert found.code and len(found.code) < len(generated.reference)
    assert 1 <= len(asked) == found.evaluations <= 2
    assert not any(decided.is_llvms for decided in asked)
    asked.clear()
    machine_code._generations.cache_clear()
    unknown = decide(replace(generated, emitted=None), request)
    assert (unknown.trace, unknown.code) == (found.trace, found.code)
    assert len(asked) == found.evaluations + 1


def test_another_object_than_clangs_is_left_to_clang(generated: Generated) -> None:
    request = replace(request_of("behave.c"), short_code=True)
    with pytest.raises(KeptReference, match="burnish's writes another object"):
        decide(replace(generated, reference=generated.reference + b"more"), request)


def test_passes_of_the_level_run_once(generated: Generated) -> None:
    program = Program("behave.c", "llvm", generated.unoptimized)
    ways = [open_session(program), open_session(program, level_bitcode=generated.bitcode)]
    for session in ways:
        session.replay(("clang<Oz>", "mem2reg"))
    assert ways[0].digest() == ways[1].digest()
    marked = _native.Module(b"define void @known() { ret void }").bitcode()
    session = open_session(program, level_bitcode=marked)
    session.replay(("clang<Oz>",))
    assert session.sites() == ("known",)


def test_a_search_returns_the_level_if_nothing_is_smaller(generated: Generated, tmp_path: Path) -> None:
    request = replace(request_of("behave.c"), evaluations=1, level_bitcode=generated.bitcode)
    with pytest.raises(KeptReference) as why:
        optimize(generated.unoptimized, replace(request, begin=("clang<Oz>",)))
    level = why.value.level
    assert level and level.bitcode == generated.bitcode
    assert level.emitted and level.emitted.code == generated.reference


def test_the_option() -> None:
    assert [cc.parse([f"--code-generation={value}"])[0] for value in ("clang", "searched")] == [
        DriverOptions(decides_code=False, memory=default_memory()),
        DriverOptions(decides_code=True, memory=default_memory()),
    ]
    with pytest.raises(UnknownName, match="no code generation named 'clangs'; did you mean 'clang'"):
        cc.parse(["--code-generation=clangs"])


def test_an_object_is_made_again_from_its_log(tmp_path: Path) -> None:
    """As far as it applies: burnish's back end does not take all options."""
    log, source, made = tmp_path / "log", DATA / "machine.c", tmp_path / "machine.o"
    own = ["--report", str(log), "--budget", "60 evaluations", "--speed-limit", "none"]
    assert cc.main([*own, "-Oz", "-c", str(source), "-o", str(made)], cxx=False) == 0
    (record,) = build_log.read(log)
    passes, code = split_code(record.trace)
    assert passes and code
    remake(record, lambda words: words, tmp_path / "again.o")
    assert (tmp_path / "again.o").read_bytes() == made.read_bytes()
    changed = replace(record, trace=(BEGIN, *code))
    remake(changed, lambda words: words, tmp_path / "code.o")
    clangs = remade_by_clang(changed, tmp_path)
    assert (tmp_path / "code.o").read_bytes() not in (made.read_bytes(), clangs)
    of_passes = replace(record, trace=passes)
    remake(of_passes, without_scheduling, tmp_path / "passes.o")
    remake(record, without_scheduling, tmp_path / "both.o")
    assert (tmp_path / "both.o").read_bytes() == (tmp_path / "passes.o").read_bytes()


def remade_by_clang(record: build_log.Record, folder: Path) -> bytes:
    remake(replace(record, action="kept"), lambda words: words, folder / "own.o")
    return (folder / "own.o").read_bytes()


def without_scheduling(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with an option of LLVM that burnish's back end does not take."""
    return (*words[:2], "-mllvm", "-enable-misched=0", *words[2:])
