"""Wrong options end a build at its first command, in the same words from the launcher and from Python."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.cc.commands import cc
from burnish.cc.commands.cc import meant
from burnish.cc.commands.launch import find_launcher
from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import Compiler, make_stock

# clang's other names for what -g, -o, -x and such do, which it does not list itself.
SYNONYMS = """\
all-warnings assemble assert comments compile debug define-macro dependencies dyld-prefix encoding
entry extra-warnings for-assembler for-linker force-link include-directory include-directory-after
include-prefix include-with-prefix include-with-prefix-after include-with-prefix-before language
library-directory machine no-integrated-cpp no-line-commands no-standard-includes
no-standard-libraries no-undefined no-warnings optimize output prefix preprocess
print-missing-file-dependencies profile resource save-temps signed-char static-pie sysroot trace
traditional undefine-macro unsigned-char user-dependencies verbose write-dependencies
write-user-dependencies"""
MISSPELLED = {
    "--bugdet": "--budget",
    "--budgt=2s": "--budget",
    "--objektive": "--objective",
    "--whole-programm": "--whole-program",
    "--code-genration": "--code-generation",
    "--repot": "--report",
    "--alnoe": "--alone",
    "--hepl": "--help",
}

NUMBERS = ("", "0", "2", "007", "2.5", "3.", ".5", ".", "1e3", "-1", "+2", "9" * 400, "1_0", "٣")
UNITS = ("", "s", "m", "x", "evaluation", "evaluations", "evaluation s", " s", "S", "h", "ss", "s,2s")
WORDS = ("remembered", "remem bered", "remember", "nan", "inf", "infs", "soon", " 2 s ", "2\ts", "s2")
TEXTS = (*WORDS, *("".join(pair) for pair in itertools.product(NUMBERS, UNITS)))
TOGETHER = (
    ["--budget=2s", "--build-budget=60s"],
    ["--budget=3.7x", "--build-budget=60s"],
    ["--build-budget=60s", "--budget=100evaluations"],
    ["--budget=remembered"],
    ["--budget=remembered", "--remember=none"],
    ["--remember=none", "--remember=/tmp/memory", "--budget=remembered"],
    ["--budget=remembered", "--remember=/tmp/memory"],
    ["--budget=remembered", "--budget=2s"],
    ["--budget=soon", "--build-budget=later"],
)


def options_of_clang() -> list[str]:
    """Return clang's long options, without values."""
    listed = subprocess.run(
        [find_tool("clang"), "--autocomplete=--"], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split("\t")[0].strip().rstrip("=") for line in listed.splitlines()]
    return [*names, *(f"--{name}" for name in SYNONYMS.split())]


def test_no_option_of_clang_is_taken() -> None:
    names = options_of_clang()
    assert {"--target", "--std", "--shared", "--version", "--sysroot"} <= set(names) and len(names) > 150
    for name in names:
        assert meant(name, (*cc.KNOWN, "--against-lto")) == ("--help" if name == "--help" else "")


@pytest.mark.parametrize(("option", "near"), MISSPELLED.items())
def test_misspelled_option_is_refused_in_one_line(
    tmp_path: Path, option: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = option.partition("=")[0]
    line = f"no option {name}; did you mean {near}? Options for clang come after --\n"
    assert cc.main([option, "2s", "-Oz", "-c", "rows.c"], cxx=True) == 2
    assert capsys.readouterr().err == f"burnish c++: {line}"
    project = make_stock(tmp_path / "project")
    done = project.run([find_launcher("burnish-cc"), option, "2s", "-Oz", "-c", "rows.c"])
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"burnish cc: {line}")
    assert "rows.o" not in project.files()


def test_link_names_its_own_option() -> None:
    words = [sys.executable, "-m", "burnish.cli", "link"]
    for option, near in (("--aginst-lto", "--against-lto"), ("--bugdet", "--budget")):
        done = subprocess.run([*words, option, "a.o"], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == (
            f"burnish: error: no option {option}; did you mean {near}? Options for clang come after --\n"
        )


def test_value_of_a_switch_is_refused() -> None:
    with pytest.raises(InputError, match=r"^--whole-program takes no value$"):
        cc.parse(["--whole-program=yes", "-c", "a.c"])


@pytest.mark.parametrize("known", cc.KNOWN)
def test_launcher_and_python_find_the_same_mistakes(known: str) -> None:
    """Letters are left out, doubled and swapped until there are too many mistakes."""
    option = known
    for at in (4, 3, 2, 5, 6):
        option = option[:at] + option[at + 1 :] if at % 2 else option[:at] + "x" + option[at:]
        done = subprocess.run(
            [find_launcher("burnish-cc"), option, "--version"], capture_output=True, text=True, check=False
        )
        near = meant(option, cc.KNOWN)
        assert done.stderr.startswith(
            f"burnish cc: no option {option}; did you mean {near}?" if near else "clang:"
        )


@pytest.mark.parametrize("option", ["--target=x86_64-linux-gnu", "--sysroot=/", "-fno-builtin", "--std=c11"])
def test_options_of_clang_reach_it(tmp_path: Path, option: str) -> None:
    project = make_stock(tmp_path / "project")
    done = Compiler(project.directory, [find_launcher("burnish-cc")])(option, "-O2", "-c", "rows.c")
    assert (done.returncode, done.stderr) == (0, b"")


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
