"""burnish cc decides the code of functions where its back end writes what clang's does."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from burnish.cli.llvm import cc
from burnish.core.errors import UnknownName
from burnish.driver.machine_code import BEGIN
from burnish.driver.requests import DriverOptions, OptimizeRequest
from burnish.toolchain import find_tool
from tests.sources import DATA

if TYPE_CHECKING:
    from tests.driver.conftest import Compiler

    MakeCompiler = Callable[..., Compiler]

SEARCHED = ("--code-generation", "searched", "--budget", "60 evaluations", "--speed-limit", "none")


@pytest.fixture
def searching(tmp_path: Path, drop_in: MakeCompiler) -> Callable[[str], Compiler]:
    """Return a drop-in compiler with a stand-in for the search of passes, and the real one for code."""

    def make(optimizer: str) -> Compiler:
        made = drop_in(tmp_path / optimizer, optimizer, "cc", *SEARCHED)
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


def test_a_budget_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.driver.requests.time.monotonic", lambda: 100.0)
    seconds = [one.until for one in OptimizeRequest("a.c", "loaded-bytes", "Oz", 10.0, 0, None).divided()]
    assert seconds == pytest.approx([107.0, 110.0])
    counted = OptimizeRequest("a.c", "loaded-bytes", "Oz", None, 0, None, evaluations=10).divided()
    assert [(one.evaluations, one.until) for one in counted] == [(7, None), (3, None)]
    remembered = OptimizeRequest("a.c", "loaded-bytes", "Oz", None, 0, None, remembered=True)
    assert remembered.divided() == (remembered, remembered)


def test_the_option() -> None:
    assert [cc.parse([f"--code-generation={value}"])[0] for value in ("clang", "searched")] == [
        DriverOptions(decides_code=False),
        DriverOptions(decides_code=True),
    ]
    with pytest.raises(UnknownName, match="no code generation named 'clangs'; did you mean 'clang'"):
        cc.parse(["--code-generation=clangs"])
