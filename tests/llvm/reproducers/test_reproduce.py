"""A reproducer shows the bug with LLVM's own tools, and does not where there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import CompilerCrash, CompilerTimeout
from burnish.evaluation.validate import Scrutiny, validate
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.reproducers.stock_tools import ToolCommand, only_functions
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_passes.tool_commands import tool_command
from burnish.workers.worker import Limits
from tests.evaluation.broken_passes import broken_task
from tests.sources import program

SCRUTINY = Scrutiny(limits=Limits(deadline_seconds=20))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that shows what structurizecfg does to quicksort."""
    found = validate(
        broken_task("structurizecfg"), load_kernel("quicksort"), ("gvn", "structurizecfg"), scrutiny=SCRUTINY
    )
    assert found.reproducer
    folder = tmp_path_factory.mktemp("reproducer")
    found.reproducer.write(folder)
    return folder


def run(folder: Path, opt: Path | str = "", clang: Path | str = "") -> subprocess.CompletedProcess[str]:
    tools = {"OPT": str(opt or find_tool("opt")), "CLANG": str(clang or find_tool("clang"))}
    command = ["sh", str(folder / "reproduce.sh")]
    return subprocess.run(command, env=os.environ | tools, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("nothing_left")
def test_script_shows_the_bug_with_stock_tools(folder: Path) -> None:
    done = run(folder)
    assert done.returncode == 1
    assert "random: median" in done.stdout


@pytest.mark.usefixtures("nothing_left")
def test_script_does_not_show_it_where_the_pass_is_right(folder: Path, tmp_path: Path) -> None:
    fixed = tmp_path / "opt"
    fixed.write_text('#!/bin/sh\ncp "$2" "$4"\n')
    fixed.chmod(0o755)
    done = run(folder, opt=fixed)
    assert (done.returncode, done.stdout) == (0, "as expected\n")


@pytest.mark.usefixtures("nothing_left")
def test_script_says_where_it_cannot_be_tried(folder: Path) -> None:
    assert run(folder, clang="false").returncode == 2


def test_report_has_what_a_bug_report_needs(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    line = "opt '-passes=function(structurizecfg)' before.ll -o after.bc"
    assert line in text
    assert "prints b'" in text
    assert "clang 23.1" in text
    assert (folder / "trace.txt").read_text() == "structurizecfg\n"
    assert (folder / "expected").read_bytes() == load_kernel("quicksort").workload.runs[0].expected  # type: ignore[union-attr]
    assert (folder / "actual").read_bytes() != (folder / "expected").read_bytes()
    subprocess.run(
        [str(find_tool("opt")), "-passes=verify", str(folder / "before.ll"), "-o", os.devnull], check=True
    )


@pytest.mark.usefixtures("nothing_left")
def test_marked_functions_are_left_alone() -> None:
    content = program("matrix.c").content
    before = dict(_native.Module(content).instruction_count_by_function())
    marked = only_functions(content, ".bc", ["multiply"])
    command = tool_command(["mem2reg"])
    assert command
    after = dict(_native.Module(command.run(marked, ".ll", seconds=60)).instruction_count_by_function())
    assert {name for name in before if after[name] != before[name]} == {"multiply"}


@pytest.mark.usefixtures("nothing_left")
def test_tool_that_fails_or_hangs_is_a_crash() -> None:
    with pytest.raises(CompilerCrash, match="opt fails"):
        ToolCommand("opt", ("-passes=no-such-pass",)).run(b"", ".ll", seconds=60)
    with pytest.raises(CompilerTimeout):
        ToolCommand("opt", ("-passes=mem2reg",)).run(program("matrix.c").content, ".bc", seconds=0)
