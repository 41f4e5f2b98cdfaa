"""The other commands, and what they have in common."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from burnish.cli import COMMANDS, main
from burnish.tasks.llvm_passes import TASK
from burnish.toolchain import find_tool
from tests.sources import DATA, program

MATRIX = str(DATA / "matrix.c")


def test_without_a_command_there_is_an_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    assert main(["--help"]) == 0


def test_misspelt_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimise"]) == 2
    assert "did you mean 'optimize'" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("burnish ")


def test_tasks_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    shown = capsys.readouterr().out
    for name in (TASK.id, *TASK.observations, *TASK.objectives, *TASK.baselines):
        assert name in shown


def test_tasks_lists_the_actions_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "llvm_passes"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert {f"    {action}" for action in TASK.actions} <= set(shown)


def test_tasks_as_json_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--json"]) == 0
    (row,) = [row for row in json.loads(capsys.readouterr().out) if row["task"] == TASK.id]
    assert row["actions"] == list(TASK.actions)
    assert row["observations"]["autophase"]["shape"] == [56]


def test_unknown_task_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "llvm_pass"]) == 2
    assert "did you mean 'llvm_passes'" in capsys.readouterr().err


@pytest.mark.usefixtures("nothing_left")
def test_passes_shows_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    trace = ["sroa<modify-cfg>", "multiply: simplifycfg", "clang<Oz>"]
    assert main(["passes", MATRIX, *trace, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["step"] for row in rows] == ["(opened)", *trace]
    session = TASK.open(program("matrix.c"))
    for row, text in zip(rows, ["", *trace], strict=True):
        session.replay([text] if text else [])
        for objective in TASK.exact_objectives:
            assert row[objective] == session.measure(objective)


@pytest.mark.usefixtures("nothing_left")
def test_apply_prints_what_opt_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", MATRIX, "mem2reg", "globaldce"]) == 0
    shown = capsys.readouterr().out
    line = shown.splitlines()[-1]
    assert line == "opt -passes='function(mem2reg),globaldce' opened.bc -o optimized.bc"
    pipeline = line.split("'")[1]
    command = [str(find_tool("opt")), "-disable-output", f"-passes={pipeline}"]
    subprocess.run(command, input=program("matrix.c").content, check=True)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([MATRIX, "simplifcfg"], "did you mean 'simplifycfg'"),
        ([MATRIX, "multiply: globaldce"], "illegal at site 'multiply'"),
        ([MATRIX, "nowhere: gvn"], "illegal at site 'nowhere'"),
        (["missing.c"], "no such file"),
    ],
)
def test_bad_passes_are_an_error(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", *words]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1


def test_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m burnish.cli tasks llvm_passes | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""
