"""burnish optimize and burnish compare on programs that are run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from burnish.cli import main
from burnish.core.result import Result
from tests.sources import DATA

BEHAVE = str(DATA / "behave.c")


def optimized(folder: Path, objective: str, *words: str) -> tuple[Path, Result]:
    """Optimize behave.c for a run and return the file of results and the result."""
    path = folder / "results.jsonl"
    command = ["optimize", BEHAVE, "--objective", objective, "--budget", "2", "--result", str(path)]
    assert main([*command, "-o", str(folder / "behave.o"), "--quiet", *words]) == 0
    return path, Result.from_json(path.read_text())


def evaluated(capsys: pytest.CaptureFixture[str], path: Path, *words: str) -> list[dict[str, Any]]:
    """Return what burnish compare prints as JSON."""
    capsys.readouterr()
    main(["compare", str(path), "--repeats", "6", "--confidence", "0.9", "--json", *words])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("nothing_left")
def test_run_time_is_compared_with_o3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, result = optimized(tmp_path, "seconds", "--run", "work 1000000", "--run", "exit 3")
    assert result.options == {"level": "O3"}
    assert result.timing["against"] == "O3"
    assert "outputs equal -O0's on 2 inputs" in result.verified
    assert (tmp_path / "behave.o").stat().st_size > 0
    out = capsys.readouterr().out
    assert "to -O3" in out and "run s" in out
    first, *means = evaluated(capsys, path)
    assert (first["against"], first["failure"]) == ("O3", "")
    assert "seconds" in first["noisy"]
    assert all("summary" in row for row in means)


@pytest.mark.usefixtures("nothing_left")
def test_replay_does_not_compare_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = optimized(tmp_path, "seconds", "--run", "work 1000")
    assert main(["replay", str(path)]) == 0
    assert "the same again" in capsys.readouterr().out


@pytest.mark.usefixtures("nothing_left")
def test_trade_off_and_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, result = optimized(tmp_path, "text-bytes^0.5*ir-instructions^0.5", "--level", "O2")
    assert (result.objective, result.options) == ("text-bytes^0.5*ir-instructions^0.5", {"level": "O2"})
    assert "weighted objective" in capsys.readouterr().out
    rows = evaluated(capsys, path, "--against", "O3,Oz")
    assert [row["against"] for row in rows[:2]] == ["O3", "Oz"]
    assert rows[0]["checks"] == ["outputs were not compared: the program was not run"]
    assert main(["compare", str(path)]) == 0
    assert "geometric mean" not in capsys.readouterr().out
    again = tmp_path / "other" / "again.jsonl"
    again.parent.mkdir()
    again.write_text(path.read_text())
    assert main(["compare", str(path), str(again)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("behave.c") == 2 and "2 programs" in shown


@pytest.mark.usefixtures("nothing_left")
def test_changed_program_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, result = optimized(tmp_path, "text-bytes")
    path.write_text(result.to_json().replace(result.digest, "0" * 32) + "\n")
    assert main(["compare", str(path)]) == 1
    out = capsys.readouterr().out
    assert "failed: " in out and "1 of 1 failed" in out


def test_standard_input_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.txt").write_text("some text\n")
    run = f"copy < {tmp_path / 'in.txt'}"
    _, result = optimized(tmp_path, "text-bytes", "--run", run)
    assert result.source == (BEHAVE, f"--run={run}")
    assert "outputs equal -O0's on 1 input" in result.verified


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--objective", "seconds"], "so it cannot be run"),
        (["--objective", "seconds^0.5*text-bytes"], "'text-bytes' has no exponent"),
        (["--objective", "second"], "did you mean 'seconds'"),
        (["--run", "copy < /nowhere"], "/nowhere: No such file"),
        (["--run", "copy < a b"], "optionally followed by '< FILE'"),
        (["--run", "'"], "No closing quotation"),
    ],
)
def test_bad_words_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    command = ["optimize", BEHAVE, "-o", str(tmp_path / "a.o"), "--budget", "1", *words]
    assert main(command) == 2
    assert said in capsys.readouterr().err


def test_objective_without_counters_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["optimize", BEHAVE, "-o", str(tmp_path / "a.o"), "--budget", "1", "--quiet"]
    code = main([*command, "--objective", "cycles", "--run", "work 10"])
    assert code == 0 or "counter" in capsys.readouterr().err
