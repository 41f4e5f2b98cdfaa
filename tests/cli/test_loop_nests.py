"""The commands on loop nests: from a name to a schedule, and from its result back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.core.result import Result
from burnish.tasks.loop_nests import TASK

PRODUCT = "matmul:24x32x16"
TRACE = ["k: swap_up", "n: split(16)", "n.1: vectorize"]
TOML = 'statements = ["o[i] = 2 * x[i] + y[i]"]\n[extents]\ni = 4096\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def optimize(*words: str) -> list[Result]:
    """Optimize by few evaluations, and return the results."""
    options = ["--budget", "12 evaluations", "--policy", "none", "--result", "found.jsonl", "--quiet"]
    assert main(["optimize", *words, *options]) == 0
    return [Result.from_json(line) for line in Path("found.jsonl").read_text().splitlines()]


def test_schedule_is_shown_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    (result,) = optimize(PRODUCT, "-o", "found.loops")
    out = capsys.readouterr().out
    assert (result.task, result.program, result.objective) == (TASK.id, PRODUCT, "seconds")
    assert "c[m,n] += a[m,k] * b[k,n]\nGFLOP/s: burnish " in out
    assert "Verified: outputs equal naive's on 1 input" in out
    written = Path("found.loops").read_text()
    assert [line.removeprefix("# ") for line in written.splitlines() if line.startswith("# ")] == list(
        result.trace
    )
    assert written.split("\n#")[0].strip() in out


def test_result_is_replayed_compared_and_validated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("scaled.toml").write_text(TOML)
    optimize("scaled.toml", "f32 n=512; o[n] = x[n] / 3", "-o", "schedules")
    for command in (["replay"], ["validate"], ["compare", "--repeats", "6"]):
        assert main([*command, "found.jsonl"]) == 0, command
    out = capsys.readouterr().out
    assert out.count("the same again") == len(re.findall(r"\bright$", out, re.MULTILINE)) == 2
    assert "Outputs equal naive's on 1 input." in out
    assert sorted(path.suffix for path in Path("schedules").iterdir()) == [".loops"] * 2


def test_steps_are_applied_and_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", PRODUCT, *TRACE, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["step"] for row in rows] == ["(opened)", *TRACE]
    assert all(row["seconds"] > 0 for row in rows)
    assert main(["apply", PRODUCT, *TRACE]) == 0
    assert "small changes may be noise" in capsys.readouterr().out


def test_what_is_never_the_same_twice_is_not_minimized(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", PRODUCT, *TRACE, "--minimize"]) == 2
    assert (
        "seconds differs at each measurement, so it cannot show which steps matter" in capsys.readouterr().err
    )


@pytest.mark.slow
def test_methods_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    words = [PRODUCT, "outer:32x48", "--methods", "random,naive", "--budget", "2 evaluations", "--out", "run"]
    assert main(["evaluate", *words]) == 0
    assert "Ratios of seconds, naive / method" in capsys.readouterr().out
    assert "programs against naive" in Path("run/report.html").read_text()


def test_agents_learn(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text(f"""
task = "loop_nests"
description = "a few steps"
[algorithm]
name = "dqn"
[[programs]]
use = "{PRODUCT}"
[[validation]]
use = "{PRODUCT}"
[environment]
max_steps = 3
count = 1
[network]
kind = "mlp"
[run]
iterations = 1
standardize_steps = 6
""")
    assert main(["train", "mine.toml", "--out", "run"]) == 0
    card = json.loads(Path("run/policy.card.json").read_text())
    assert card["task"] == TASK.id
    assert "naive / policy" in capsys.readouterr().err


def test_task_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    assert f"\n{TASK.id}: {len(TASK.actions)} actions" in capsys.readouterr().out
