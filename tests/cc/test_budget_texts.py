"""A wrong budget ends a build at its first command, in the same words from the launcher and from Python."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from burnish.cc.commands import cc
from burnish.cc.commands.launch import find_launcher
from burnish.core.errors import InputError
from tests.cc.conftest import Compiler, make_stock

NUMBERS = ("", "0", "2", "007", "2.5", "3.", ".5", ".", "1e3", "-1", "+2", "9" * 400, "1_0", "٣")
UNITS = ("", "s", "m", "x", "evaluation", "evaluations", "evaluation s", " s", "S", "h", "ss", "s,2s")
WORDS = ("remembered", "remem bered", "remember", "nan", "inf", "infs", "soon", " 2 s ", "2\ts", "s2")
TEXTS = (*WORDS, *("".join(pair) for pair in itertools.product(NUMBERS, UNITS)))
TOGETHER = (
    ["--budget=2s", "--build-budget=60s"],
    ["--budget=3.2x", "--build-budget=60s"],
    ["--build-budget=60s", "--budget=100evaluations"],
    ["--budget=remembered"],
    ["--budget=remembered", "--remember=/tmp/memory"],
    ["--budget=remembered", "--budget=2s"],
    ["--budget=soon", "--build-budget=later"],
)


def said_by_python(options: list[str]) -> str:
    try:
        cc.parse(options)
    except InputError as error:
        return f"burnish cc: {error}\n"
    return ""


def said_by_launcher(options: list[str]) -> str:
    """clang's --version is all that is asked for: nothing is compiled."""
    command = [find_launcher("burnish-cc"), *options, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == (2 if done.stderr else 0)
    return done.stderr


def test_launcher_and_python_read_the_same_budgets() -> None:
    for text, option in itertools.product(TEXTS, ("--budget", "--build-budget")):
        options = [option, text, "--remember", "/tmp/memory"]
        assert said_by_launcher(options) == said_by_python(options), options


@pytest.mark.parametrize("options", TOGETHER)
def test_launcher_and_python_say_the_same_of_budgets_together(options: list[str]) -> None:
    assert said_by_launcher(options) == said_by_python(options)


def test_a_wrong_budget_fails_where_nothing_is_searched(tmp_path: Path) -> None:
    """rows.c is too small: Python would never start."""
    project = make_stock(tmp_path / "project")
    launcher = Compiler(project.directory, [find_launcher("burnish-cc"), "--budget=soon"])
    done = launcher("-Oz", "-c", "rows.c")
    assert done.returncode == 2
    assert done.stderr.startswith(b"burnish cc: --budget soon: expected 2s, 1m")
    assert "rows.o" not in launcher.files()
