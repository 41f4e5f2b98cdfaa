"""burnish link: objects with units, sources and bitcode, to one program."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.llvm.toolchain import find_tool
from tests.cc.served import run

PROJECT = Path(__file__).parents[1] / "link" / "project"


def burnish(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "burnish.cli", *words]
    done = run(command, folder)
    assert not done.returncode, done.stderr
    return done.stdout.decode()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Path(shutil.copytree(PROJECT, tmp_path / "project"))


def test_objects_sources_and_bitcode(project: Path) -> None:
    burnish(project, "cc", "--whole-program", "-Oz", "-c", "main.c", "find.c")
    bitcode = ["-Oz", "-c", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "twice.c", "-o", "twice.bc"]
    subprocess.run([find_tool("clang"), *bitcode], cwd=project, check=True)
    inputs = ("main.o", "find.o", "sums.c", "twice.bc")
    printed = burnish(project, "link", "--alone", "--budget", "20 evaluations", *inputs, "-o", "program")
    assert printed.startswith("\nprogram: 4 units in one module, ")
    before, after = (
        int(text.replace(",", "")) for text in re.findall(r"loaded +([\d,]+) +([\d,]+) ", printed)[0]
    )
    assert after < before
    assert subprocess.run([project / "program", "3"], check=False, capture_output=True).returncode == 0
    assert (project.parent / "state" / "burnish" / "cc.jsonl").read_text().count("4 units") == 1


def test_beside_clangs_own_link_time_optimization(project: Path) -> None:
    """It says what clang -flto makes of it, byte for byte."""
    names = ("main", "find", "sums", "twice")
    burnish(project, "cc", "--whole-program", "-Oz", "-c", *(f"{name}.c" for name in names))
    words = [*(f"{name}.o" for name in names), "-o", "program", "-s"]
    printed = burnish(
        project, "link", "--format", "csv", "--against-lto", "--alone", "--budget", "2 evaluations", *words
    )
    rows = {row["bytes"]: row for row in csv.DictReader(io.StringIO(printed))}
    assert list(rows) == ["loaded", "code"]
    command = [find_tool("clang"), "-Oz", "-flto", "-s", *(f"{name}.c" for name in names), "-o", "lto"]
    subprocess.run([str(word) for word in command], cwd=project, check=True)
    sizes = subprocess.run(
        [find_tool("llvm-readelf"), "-SW", project / "lto"], check=True, capture_output=True, text=True
    ).stdout
    sections = [line[7:].split() for line in sizes.splitlines() if re.match(r"  \[ *[1-9]", line)]
    loaded = sum(int(row[4], 16) for row in sections if "A" in row[6] and row[1] != "NOBITS")
    assert int(rows["loaded"]["clang -flto"]) == loaded


@pytest.mark.parametrize(
    "words", [[], ["--budget", "1s"], ["--budget", "soon", "a.o"], ["--format", "x", "a.o"]], ids=" ".join
)
def test_what_is_wrong_is_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("burnish: error: ") and said.count("\n") == 1
    assert "expected" in said or "known: table, markdown, csv" in said


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["link", "--help"]) == 0
    assert "burnish link --budget" in capsys.readouterr().out
