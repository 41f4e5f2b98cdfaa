"""The shell's lines, and the command around them."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from burnish.cli import main
from burnish.cli.shell import typed_lines
from burnish.core.errors import IllegalAction, InputError, UnknownName
from burnish.explorer.exploration import Exploration
from burnish.explorer.shell import Shell
from burnish.tasks.llvm_passes import TASK
from tests.core.counting_task import TASK as COUNTING
from tests.core.counting_task import counters
from tests.sources import DATA, program

SROA = "sroa<modify-cfg>"
pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture(scope="module")
def known() -> Iterator[Exploration]:
    with Exploration(TASK, program("matrix.c")) as exploration:
        yield exploration


@pytest.fixture
def shell(known: Exploration) -> Shell:
    return Shell(known)


@pytest.fixture
def counting() -> Iterator[Shell]:
    with Exploration(COUNTING, counters("a=8 b=3")) as exploration:
        yield Shell(exploration)


def test_entries_undo_and_costs(counting: Shell) -> None:
    assert counting.title() == "a=8 b=3  counting-v4  12 units"
    assert counting.run("halve") == "12 -> 8 units (-33.3%)"
    assert counting.run("b: subtract(3)") == "8 -> 5 units (-37.5%)"
    assert counting.run("  ") == ""
    assert counting.run("trace") == "halve\nb: subtract(3)"
    assert counting.run("costs") == "total: 5\nlargest: 5\ntotal of start 12, halved 5"
    assert counting.run("undo") == "5 -> 8 units (+60.0%)"
    assert counting.run("halve").startswith("8 -> ")
    assert counting.run("undo 2").endswith("12 units (+100.0%)")
    assert counting.run("trace") == "no step was applied"
    with pytest.raises(EOFError):
        counting.run("quit")


def test_diff_by_the_step_and_from_the_start(shell: Shell, counting: Shell) -> None:
    shell.run(SROA)
    assert "transpose: +" in shell.run("diff")
    assert shell.run(SROA) == "nothing changed"
    assert shell.run("diff") == "nothing changed"
    assert "transpose: +" in shell.run("diff start")
    counting.run("halve")
    assert counting.run("diff").splitlines() == ["program: +1 -1", "- a=8 b=3", "+ a=4 b=3"]


def test_legal_actions_are_filtered_and_completed(shell: Shell, counting: Shell) -> None:
    assert SROA in shell.run("legal sroa").splitlines()
    assert shell.run("legal").splitlines()[-1].startswith("... and ")
    assert shell.run("legal no-such") == "no legal action contains 'no-such'"
    assert list(counting.completions("un")) == ["undo"]
    assert list(counting.completions("observe s")) == ["observe shares", "observe shares-of-each"]
    assert list(counting.completions("b")) == ["b: "]
    assert list(counting.completions("b: s")) == ["b: subtract(1)", "b: subtract(3)"]
    assert list(counting.completions("h")) == ["help", "halve"]


def test_observation(counting: Shell) -> None:
    assert counting.run("observe values") == "0 8\n1 3"
    with pytest.raises(InputError, match="observe: expected an observation: values shares text"):
        counting.run("observe")


def test_search_and_minimize(counting: Shell) -> None:
    counting.run("a: add(1)")
    counting.run("a: subtract(1)")
    assert counting.run("minimize") == "12 -> 12 units (+0.0%)"
    found = counting.run("search 3")
    assert found.splitlines()[-1].startswith("12 -> ")
    assert counting.run("trace").splitlines() == found.splitlines()[:-1]


@pytest.mark.parametrize("suffix", [".bc", ".o", ".jsonl"])
def test_saved_states(shell: Shell, tmp_path: Path, suffix: str) -> None:
    shell.run(SROA)
    file = tmp_path / f"a name{suffix}"
    assert shell.run(f"save '{file}'") == f"wrote {file}, {file.stat().st_size} bytes"
    assert file.stat().st_size > 100


def test_validation(shell: Shell) -> None:
    shell.run(SROA)
    assert shell.run("validate").startswith("replayed in two new processes: the same state")


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("halv", InputError, "did you mean 'halve'.*'help' the commands"),
        ("b: halve", IllegalAction, "'halve' is illegal"),
        ("undo", InputError, "expected a number from 1 to 0"),
        ("undo x", InputError, "undo x"),
        ("diff before", InputError, "expected nothing, or start"),
        ("observe texts", UnknownName, "did you mean 'text'"),
        ("search soon", InputError, "expected a number of seconds"),
        ("save", InputError, "expected a file"),
        ("save x.o", InputError, "writes no files"),
    ],
)
def test_a_wrong_line_says_what_is_expected_and_changes_nothing(
    counting: Shell, line: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        counting.run(line)
    assert counting.here == counting.exploration.root


@pytest.mark.parametrize(("last", "code"), [("undo", 0), ("no-such-action", 1)])
def test_a_script_from_a_pipe(
    last: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"wrong\n{SROA}\n{last}\n"))
    assert main(["shell", str(DATA / "matrix.c")]) == code
    shown, error = capsys.readouterr()
    assert "matrix.c  llvm_passes-v" in shown.splitlines()[0]
    assert f"> {SROA}" in shown
    assert "error: no action named 'wrong'" in error


def test_a_prompt_completes_and_ends_at_ctrl_d(shell: Shell) -> None:
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text("sroa<m\t\r\x04")
        lines = typed_lines(shell)
        assert next(lines) == SROA
        assert next(lines, None) is None
