"""burnish apply: each step, idle ones, what matters, and the trace of a result."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from burnish.cli import main
from burnish.core.result import Result
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_passes import TASK
from tests.cli.results import result_of, written
from tests.sources import DATA, program

pytestmark = pytest.mark.usefixtures("nothing_left")

MATRIX = str(DATA / "matrix.c")


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def row(*trace: str, source: str = MATRIX, fallback: str = "", digest: str = "") -> Result:
    return result_of(source, digest or program("matrix.c").digest, *trace, fallback=fallback)


def test_each_step_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    trace = ["sroa<modify-cfg>", "multiply: simplifycfg", "clang<Oz>"]
    assert main(["apply", MATRIX, *trace, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["step"] for row in rows] == ["(opened)", *trace]
    session = TASK.open(program("matrix.c"))
    for row, text in zip(rows, ["", *trace], strict=True):
        session.replay([text] if text else [])
        for objective in TASK.exact_objectives:
            assert row[objective] == session.measure(objective)


def test_it_prints_what_opt_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", MATRIX, "mem2reg", "globaldce"]) == 0
    shown = capsys.readouterr().out
    line = shown.splitlines()[-1]
    assert line == "opt -passes='function(mem2reg),globaldce' opened.bc -o optimized.bc"
    pipeline = line.split("'")[1]
    command = [str(find_tool("opt")), "-disable-output", f"-passes={pipeline}"]
    subprocess.run(command, input=program("matrix.c").content, check=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([MATRIX, "simplifcfg"], "did you mean 'simplifycfg'"),
        ([MATRIX, "multiply: globaldce"], "illegal at site 'multiply'"),
        ([MATRIX, "nowhere: gvn"], "the program has no 'nowhere'; known: fibonacci, "),
        (["missing.c"], "no such file"),
    ],
)
def test_bad_actions_are_an_error(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", *words]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1


def test_idle_steps_are_said_to_be_idle(capsys: pytest.CaptureFixture[str]) -> None:
    trace = ["sroa<modify-cfg>", "sroa<modify-cfg>", "gvn", "globaldce"]
    assert main(["apply", MATRIX, *trace, "--json"]) == 0
    assert [row["idle"] for row in printed(capsys)] == [False, False, True, False, True]
    assert main(["apply", MATRIX, *trace]) == 0
    assert capsys.readouterr().out.count("(idle)") == 2


def test_minimized_trace_costs_the_same_and_each_step_is_worth_something(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = ["globaldce", "sroa<modify-cfg>", "mem2reg", "clang<Oz>", "lcssa", "gvn"]
    assert main(["apply", MATRIX, *trace, "--minimize", "--json"]) == 0
    rows = printed(capsys)
    whole, minimal = rows[: len(trace) + 1], rows[len(trace) + 1 :]
    assert [row["step"] for row in whole] == ["(opened)", *trace]
    assert "without" not in whole[0]
    assert minimal[-1]["ir-instructions"] <= whole[-1]["ir-instructions"]
    kept = [str(row["step"]) for row in minimal[1:]]
    assert 0 < len(kept) < len(trace)
    for i, step in enumerate(minimal[1:]):
        session = TASK.open(program("matrix.c"))
        session.replay(kept[:i] + kept[i + 1 :])
        assert step["without"] == session.measure("ir-instructions") - minimal[-1]["ir-instructions"]
        assert step["without"] > 0


def test_minimized_table_says_how_many_matter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", MATRIX, "globaldce", "mem2reg", "mem2reg", "--minimize"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 3 matter for instructions" in shown
    assert shown.splitlines()[-1] == "opt -passes='function(mem2reg)' opened.bc -o optimized.bc"


def test_passes_of_a_result_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, row("gvn"), row("mem2reg", "lcssa"))
    assert main(["apply", "--result", path, "--number", "2", "--minimize", "--json"]) == 0
    rows = printed(capsys)
    assert [row["step"] for row in rows] == ["(opened)", "mem2reg", "lcssa", "(opened)", "mem2reg"]


def test_program_of_a_result_may_be_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, row("gvn", source=str(tmp_path / "gone.c"), digest="other"))
    assert main(["apply", "--result", path]) == 2
    assert "gone.c" in capsys.readouterr().err
    shutil.copy(DATA / "matrix.c", tmp_path / "here.c")
    assert main(["apply", str(tmp_path / "here.c"), "--result", path]) == 2
    assert "differs from the program of the result" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "words", "message"),
    [
        ([row("gvn"), row("gvn")], [], "expected --number 1 to 2: 1 "),
        ([row("gvn")], ["--number", "2"], "expected --number 1 to 1"),
        ([row(fallback="Oz")], [], "-Oz was kept"),
        ([row("gvn")], [MATRIX, "gvn"], "leave out the others"),
        ([row("gvn")], ["--objective", "text"], "did you mean 'text-bytes'"),
        (
            [row("gvn")],
            ["--objective", "compile-seconds"],
            "differs at each measurement; expected another --objective",
        ),
    ],
)
def test_results_that_cannot_be_explained(
    tmp_path: Path,
    rows: list[Result],
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["apply", "--result", written(tmp_path, *rows), *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], [MATRIX, "--number", "1"]])
def test_words_that_do_not_fit(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", *words]) == 2
    assert "--result" in capsys.readouterr().err
