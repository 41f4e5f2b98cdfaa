"""burnish's own options, before clang's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from burnish.cc.commands import cc
from burnish.cc.file_budget import FileBudget
from burnish.cc.requests import DriverOptions, default_memory
from burnish.core.errors import InputError


def options_of(objective: str | None = None, **others: Any) -> DriverOptions:
    """Return options with the memory of all builds."""
    return DriverOptions(objective, memory=default_memory(), **others)


def test_clangs_arguments_start_at_the_first_that_is_not_burnishs() -> None:
    assert cc.parse(["--budget", "5s", "--seed=3", "-O2", "--budget", "7"]) == (
        options_of(budget=FileBudget(seconds=5), seed=3),
        ["-O2", "--budget", "7"],
    )
    assert cc.parse(["--objective", "text-bytes", "--search=beam"])[0] == options_of(
        "text-bytes", search="beam"
    )
    assert cc.parse(["--speed-limit=10%"])[0] == options_of(speed_limit=1.1)
    assert cc.parse(["--speed-limit", "none"])[0] == options_of(speed_limit=None)
    assert cc.parse(["--stack-limit=0%", "--ram-limit=0%"])[0] == options_of(stack_limit=1, ram_limit=1)
    assert cc.parse(["--stack-limit", "none"])[0] == options_of(stack_limit=math.inf)
    assert cc.parse(["--", "--budget", "5"]) == (options_of(), ["--budget", "5"])
    assert cc.parse(["--version"]) == (options_of(), ["--version"])
    assert cc.parse([]) == (options_of(), [])


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("2s", FileBudget(seconds=2)),
        ("1m", FileBudget(seconds=60)),
        ("100 evaluations", FileBudget(evaluations=100)),
        ("100evaluations", FileBudget(evaluations=100)),
        ("3x", FileBudget(multiple=3)),
        ("2.5 x", FileBudget(multiple=2.5)),
        ("remembered", FileBudget(remembered=True)),
    ],
)
def test_a_budget_is_written_with_its_unit(text: str, budget: FileBudget) -> None:
    assert FileBudget.parse(text) == budget


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
        (["--budget", "soon"], "--budget soon: expected 2s"),
        (["--speed-limit", "5"], "'5': expected a percentage, such as 5%, or none"),
        (["--budget=2"], "--budget 2: expected 2s"),
        (["--budget=0s"], "--budget 0s: this is too short to try anything"),
        (["--budget=0x"], "--budget 0x: expected 2s"),
        (["--budget=nan"], "--budget nan: expected 2s"),
        (["--build-budget=4x"], "--build-budget 4x: expected seconds or minutes for the whole build"),
        (["--build-budget=60"], "--build-budget 60: expected 2s"),
        (["--budget=remembered", "--remember=none"], "--budget remembered: expected a memory"),
        (
            ["--lock=/no/such/lock"],
            "--lock /no/such/lock: No such file or directory; write it again",
        ),
        (["--budget=2s", "--build-budget=60s"], "--budget and --build-budget: expected only one of them"),
        (["--seed", "-1"], "--seed -1: expected a whole number"),
        (["--objective", "text-byte"], "did you mean 'text-bytes'"),
        (["--search", "beem"], "did you mean 'beam'"),
        (["--remember", "/no/such/directory/memory"], "make it first: mkdir -p /no/such/directory"),
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
