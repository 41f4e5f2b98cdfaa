"""burnish's own options, before clang's."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.cli import cc
from burnish.core.errors import InputError
from burnish.driver.requests import Options


def test_clangs_arguments_start_at_the_first_that_is_not_burnishs() -> None:
    assert cc.parse(["--budget", "5", "--seed=3", "-O2", "--budget", "7"]) == (
        Options(budget_seconds=5, seed=3),
        ["-O2", "--budget", "7"],
    )
    assert cc.parse(["--objective", "text-bytes", "--search=beam"])[0] == Options("text-bytes", search="beam")
    assert cc.parse(["--", "--budget", "5"]) == (Options(), ["--budget", "5"])
    assert cc.parse(["--version"]) == (Options(), ["--version"])
    assert cc.parse([]) == (Options(), [])


def test_the_log_does_not_move_with_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options, _ = cc.parse(["--report", "build.jsonl", "-c"])
    assert options
    assert options.log == tmp_path / "build.jsonl"
    options, _ = cc.parse(["--remember", "memory", "-c"])
    assert options
    assert options.memory == tmp_path / "memory"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget"], "--budget needs a value"),
        (["--budget", "soon"], "--budget soon: expected seconds"),
        (["--budget=0"], "--budget 0: expected seconds"),
        (["--budget=nan"], "--budget nan: expected seconds"),
        (["--seed", "-1"], "--seed -1: expected a whole number"),
        (["--objective", "text-byte"], "did you mean 'text-bytes'"),
        (["--search", "beem"], "did you mean 'beam'"),
        (["--remember", "/no/such/directory/memory"], "there is no folder /no/such/directory"),
        (["--report", "/no/such/directory/log"], "expected a file that can be written"),
    ],
)
def test_a_wrong_option_says_what_was_expected(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=message):
        cc.parse(arguments)
    assert cc.main([*arguments, "-c", "a.c"] if len(arguments) > 1 else arguments, cxx=False) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("burnish cc: ")
    assert not captured.out


def test_help_is_burnishs_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cc.main(["--help"], cxx=True) == 0
    assert "usage: burnish c++ [OPTION]... CLANG-ARGUMENT..." in capsys.readouterr().out
