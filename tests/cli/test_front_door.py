"""What all commands have in common."""

from __future__ import annotations

import subprocess
import sys

import pytest

from burnish.cli import COMMANDS, LAUNCHED, main


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


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in LAUNCHED])
def test_each_command_has_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main([name, "--help"])
    except SystemExit as ended:  # argparse ends so
        assert ended.code == 0
        code = 0
    assert code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: burnish {name} ")
