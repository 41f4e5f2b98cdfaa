"""burnish leaderboard: what burnish evaluate appended is verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.cli import main
from tests.sources import DATA

FILE = str(DATA / "hash_table.c")


@pytest.mark.usefixtures("fonts", "nothing_left")
def test_leaderboard_is_appended_to_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = tmp_path / "board.jsonl"
    words = ["--methods", "random", "--budget", "6", "--out", str(tmp_path / "run"), "--name", "mine"]
    assert main(["evaluate", FILE, *words, "--append", str(board)]) == 0
    assert main(["leaderboard", str(board)]) == 0
    assert "verified" in capsys.readouterr().out
    board.write_text(board.read_text().replace('"count": 1', '"count": 2'))
    assert main(["leaderboard", str(board), "--sample", "0", "--json"]) == 1
    entries = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert entries[0]["problems"] == ["1 rows, the entry says 2"]


@pytest.mark.usefixtures("fonts", "nothing_left")
def test_methods_of_one_name_are_told_apart_and_what_is_not_here_is_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = tmp_path / "board.jsonl"
    words = ["--methods", "random,Oz", "--budget", "4", "--out", str(tmp_path / "run"), "--name", "mine"]
    assert main(["evaluate", FILE, *words, "--append", str(board)]) == 0
    assert [json.loads(line)["name"] for line in board.read_text().splitlines()] == ["mine random", "mine Oz"]
    first, second = board.read_text().splitlines()
    missing = json.dumps(json.loads(second) | {"task": "llvm_passes-v0"})
    board.write_text(f"{first}\n{missing}\n")
    capsys.readouterr()
    assert main(["leaderboard", str(board)]) == 0
    shown = capsys.readouterr().out
    assert "verified" in shown and "differences" not in shown
    assert "not verified here: 1 entry: no task named 'llvm_passes-v0'" in shown
    board.write_text(f"{missing}\n")
    assert main(["leaderboard", str(board)]) == 2


def test_file_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "nowhere.jsonl"]) == 2
    assert "nowhere.jsonl" in capsys.readouterr().err
