"""What all commands have in common, and what they once were called."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from burnish.cli import COMMANDS, main


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


def test_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m burnish.cli tasks llvm_passes | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("words", "today"),
    [
        ("passes a.c gvn", "apply a.c gvn"),
        ("evaluate --verify b.jsonl --sample 2", "leaderboard b.jsonl --sample 2"),
        ("evaluate --sample 2 --verify=b.jsonl", "leaderboard --sample 2 b.jsonl"),
        ("evaluate r.jsonl --against O3,Oz", "compare r.jsonl --against O3,Oz"),
        ("evaluate --json run --worth 3", "evaluate --json --out run --worth 3"),
    ],
)
def test_older_forms_do_what_they_did_and_name_the_new_one(
    words: str,
    today: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    assert main(today.split()) == 2  # none of the files is there
    new = capsys.readouterr().err
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"burnish: this is now called: burnish {today}\n{new}"


@pytest.mark.parametrize(
    "words", ["evaluate run --methods O3 --out run", "evaluate --out run", "evaluate --out=run --json"]
)
def test_forms_of_today_are_taken_as_they_are(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    assert main(words.split()) == 2
    assert "now called" not in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("cc", "c++")])
def test_each_command_has_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main([name, "--help"])
    except SystemExit as ended:  # argparse ends so
        assert ended.code == 0
        code = 0
    assert code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: burnish {name} ") and "now called" not in shown
