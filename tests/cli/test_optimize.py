"""burnish optimize, as it is called."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc.requests import STACK_LIMIT
from burnish.cli import main
from burnish.core.objective import parse_growth, parse_objective
from burnish.core.result import Result
from burnish.llvm.corpora.kernels import FLAGS, find_kernel
from burnish.llvm.modules.parts import STACK_OF_OTHER_MACHINES
from burnish.llvm.toolchain import find_tool
from tests.conftest import children
from tests.sources import DATA

QUICK = ["--budget", "5", "--workers", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None) -> Path:
    """Work in a folder of its own, with copies of some programs."""
    work = tmp_path / "work"
    work.mkdir()
    for name in ("strings.c", "matrix.c", "classes.cpp", "features.ll", "structs.c"):
        shutil.copy(DATA / name, work)
    monkeypatch.chdir(work)
    return work


def optimize(*arguments: str) -> int:
    return main(["optimize", *arguments, *QUICK])


def results(text: str) -> list[Result]:
    return [Result.from_json(line) for line in text.splitlines()]


def test_table_shows_both_measures_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("strings.c", "matrix.c") == 0
    shown, progress = capsys.readouterr()
    assert progress == ""
    for word in ("strings.c", "matrix.c", "all 2", "IR instrs", ".text B", "evals", "sec"):
        assert word in shown
    for word in ("-O0", "-Oz", "-O3", "burnish", "to -Oz"):
        assert word in shown
    assert Path("strings.o").exists() and Path("matrix.o").exists()


@pytest.mark.parametrize("name", ["classes.cpp", "features.ll"])
def test_object_is_as_large_as_the_result_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize(name, "-o", "out.o", "--json") == 0
    (result,) = results(capsys.readouterr().out)
    assert _native.object_sizes(Path("out.o").read_bytes()).loaded_bytes == result.cost
    assert result.cost <= result.baselines["Oz"]
    assert result.source == (name,)
    assert result.valid


@pytest.mark.parametrize(
    ("options", "objective"),
    [
        ([], "loaded-bytes while slowdown<=1.05 and code-growth<=1 and linked-growth<=1"),
        (
            ["--speed-limit", "20%"],
            "loaded-bytes while slowdown<=1.2 and code-growth<=1 and linked-growth<=1",
        ),
        (["--speed-limit", "none"], "loaded-bytes while code-growth<=1 and linked-growth<=1"),
        (["--objective", "text-bytes"], "text-bytes"),
        (["--objective", "loaded-bytes while slowdown<=1.5"], "loaded-bytes while slowdown<=1.5"),
    ],
)
def test_fewer_loaded_bytes_do_not_cost_more_time_than_is_allowed(
    options: list[str], objective: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert optimize("matrix.c", "--json", *options) == 0
    (result,) = results(capsys.readouterr().out)
    assert result.objective == objective
    for limit in parse_objective(objective).limits:
        assert result.beside[limit.objective]["result"] <= limit.most


def test_o0_is_clangs_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("structs.c", "--json") == 0
    (result,) = results(capsys.readouterr().out)
    for level in ("O0", "O2", "Oz"):
        command = [str(find_tool("clang")), f"-{level}", "-c", "structs.c", "-o", "clang.o"]
        subprocess.run(command, check=True)
        theirs = _native.object_sizes(Path("clang.o").read_bytes()).loaded_bytes
        assert result.baselines[level] == theirs


@pytest.mark.parametrize("name", [pytest.param("kernels:fft", marks=pytest.mark.slow), "kernels:fft@medium"])
def test_o0_of_a_kernel_is_clangs_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize(name, "--json") == 0
    (result,) = results(capsys.readouterr().out)
    kernel = find_kernel("fft")
    command = [str(find_tool("clang")), "-O0", *FLAGS, "-c", str(kernel.source), "-o", "clang.o"]
    subprocess.run(command, check=True)
    assert result.baselines["O0"] == _native.object_sizes(Path("clang.o").read_bytes()).loaded_bytes


def test_bitcode_is_accepted_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.bc").write_bytes(_native.Module(Path("features.ll").read_bytes()).bitcode())
    assert optimize("in.bc", "-o", "out.bc", "--json", "--objective", "ir-instructions") == 0
    (result,) = results(capsys.readouterr().out)
    module = _native.Module(Path("out.bc").read_bytes())
    assert module.instruction_count() == result.cost
    assert result.fallback or module.digest() == result.state


def test_text_is_written() -> None:
    assert optimize("matrix.c", "-o", "out.ll") == 0
    assert "define" in Path("out.ll").read_text()
    assert _native.Module(Path("out.ll").read_bytes()).has_function("transpose")


def test_several_files_go_to_a_folder() -> None:
    Path("objects").mkdir()
    assert optimize("strings.c", "matrix.c", "-o", "objects") == 0
    assert sorted(path.name for path in Path("objects").iterdir()) == ["matrix.o", "strings.o"]


def test_linked_files_become_one_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("strings.c", "matrix.c", "--link", "--json") == 0
    (result,) = results(capsys.readouterr().out)
    assert result.program == "strings.c+matrix.c"
    assert _native.object_sizes(Path("linked.o").read_bytes()).loaded_bytes == result.cost


def test_clangs_options_follow_the_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("needs.c").write_text("int answer(void) { return ANSWER; }\n")
    assert optimize("needs.c") == 2
    assert "ANSWER" in capsys.readouterr().err
    assert main(["optimize", "needs.c", "--json", *QUICK, "--", "-DANSWER=42"]) == 0
    assert results(capsys.readouterr().out)[0].source == ("needs.c", "-DANSWER=42")


def test_result_file_is_one_line_each() -> None:
    assert optimize("strings.c", "matrix.c", "--result", "found.jsonl") == 0
    rows = results(Path("found.jsonl").read_text())
    assert [row.program for row in rows] == ["strings.c", "matrix.c"]


def test_a_profile_of_the_runs_is_named_and_verified(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--objective", "seconds", "--profile", "--budget", "3", "--result", "r.jsonl")
    assert optimize("kernels:words", *given) == 0
    assert "a profile of the program's own runs" in capsys.readouterr().out
    (result,) = results(Path("r.jsonl").read_text())
    assert result.options == {"level": "O3", "profile": "True"}


def test_option_that_ignores_always_inline_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(DATA / "always_inline.c", ".")
    assert optimize("always_inline.c", "--ignore-always-inline", "--result", "r.jsonl") == 0
    assert "Not comparable with clang's levels: always_inline = False" in capsys.readouterr().out
    assert results(Path("r.jsonl").read_text())[0].options == {"always_inline": "False"}


def test_only_calls_on_another_machine_have_a_limit_of_stack(capsys: pytest.CaptureFixture[str]) -> None:
    """Each program counts: a run may have several machines."""
    Path("arm.ll").write_text('target triple = "thumbv7em-none-eabi"\ndefine void @f() { ret void }\n')
    other = ("--", "--target=thumbv7em-none-eabi")
    limited = f"stack-growth<={STACK_LIMIT}"
    assert parse_growth(STACK_OF_OTHER_MACHINES) == STACK_LIMIT
    for arguments, expected in (
        (("strings.c", "arm.ll"), [False, True]),
        (("strings.c", *other), [True]),
        (("--link", "arm.ll", "--output=linked.o"), [True]),
        (("--stack-limit=none", "strings.c", *other), [False]),
        (("--objective=text-bytes", "strings.c", *other), [False]),
    ):
        assert main(["optimize", "--json", *QUICK, *arguments]) == 0
        found = results(capsys.readouterr().out)
        assert [limited in result.objective for result in found] == expected, arguments
    assert main(["optimize", "--json", *QUICK, "--stack-limit=10%", "strings.c", *other]) == 0
    assert "stack-growth<=1.1" in results(capsys.readouterr().out)[0].objective


BROKEN: dict[str, bytes] = {
    "empty.bc": b"",
    "zeros.bc": b"\0" * 64,
    "foreign.ll": b'target triple = "powerpc64le-unknown-linux-gnu"\n',
    "text.ll": b"not a module\n",
    "broken.c": b"int f( {\n",
    "notes.txt": b"",
}


@pytest.mark.parametrize("name", [*BROKEN, "missing.c", "missing.bc"])
def test_bad_input_is_one_error_and_touches_no_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name in BROKEN:
        Path(name).write_bytes(BROKEN[name])
    Path("out.o").write_bytes(b"precious")
    stamp = Path("out.o").stat().st_mtime_ns
    assert optimize(name, "-o", "out.o") == 2
    shown, error = capsys.readouterr()
    assert shown == ""
    assert error.startswith("burnish: error: ")
    assert name in error
    assert "Traceback" not in error
    assert error.count("\n") == 1 or name == "broken.c"  # clang's own diagnostics are shown in full
    assert Path("out.o").read_bytes() == b"precious"
    assert Path("out.o").stat().st_mtime_ns == stamp


def test_bad_file_does_not_keep_the_others_from_being_done(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.c").write_text("int f( {\n")
    Path("zeros.bc").write_bytes(b"\0" * 64)
    assert optimize("broken.c", "strings.c", "missing.c", "zeros.bc", "matrix.c") == 2
    shown, error = capsys.readouterr()
    assert "all 2" in shown and "wrote strings.o, matrix.o" in shown
    assert "burnish: error: broken.c: clang failed\nbroken.c:1:8: error: " in error
    assert "burnish: error: missing.c: no such file\n" in error
    assert error.endswith("burnish: 3 of 5 failed: broken.c, missing.c, zeros.bc\n")
    assert Path("strings.o").exists() and Path("matrix.o").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["strings.c", "-o", "out.exe"], "ends in .o, .bc or .ll"),
        (["strings.c", "-o", "nowhere/out.o"], "its folder does not exist"),
        (["strings.c", "matrix.c", "-o", "out.o"], "expected a folder"),
        (["strings.c", "--objective", "text-byte"], "did you mean 'text-bytes'"),
        (["strings.c", "--budget", "soon"], "expected seconds"),
    ],
)
def test_bad_option_is_an_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["optimize", *QUICK, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_unwritable_folder_is_an_error_that_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    before = children()  # of tests before this one
    assert optimize("strings.c", "-o", "file/out.o") == 2
    assert children() <= before


def test_progress_is_silent_where_nobody_watches() -> None:
    command = [sys.executable, "-m", "burnish.cli", "optimize", "strings.c", "--json", "--budget", "1.5s"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    assert done.stderr == b""
    assert json.loads(done.stdout)["program"] == "strings.c"


def test_without_some_actions_results_say_so_and_replay(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--objective", "ir-instructions", "--without", "outline*", "--without", "mergefunc,gvn"]
    assert main(["optimize", "strings.c", *words, "--budget", "60", "--workers", "1", "--result", "r"]) == 0
    assert "Left out of the actions: gvn,mergefunc,outline*" in capsys.readouterr().out
    (result,) = results(Path("r").read_text())
    assert result.options == {"without": "gvn,mergefunc,outline*"}
    assert result.method.startswith("mixed@") and result.trace
    actions = {text.rpartition(": ")[2] for text in result.trace}
    assert not actions & {"mergefunc", "gvn"} and not any(text.startswith("outline") for text in actions)
    assert main(["replay", "r"]) == 0
    assert "the same again" in capsys.readouterr().out


def test_what_is_left_out_has_to_be_an_action(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("strings.c", "--without", "mergefun") == 2
    assert "did you mean 'mergefunc'" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".svg", ".dot"])
def test_search_is_drawn(suffix: str) -> None:
    assert optimize("strings.c", "-o", "out.o", "--graph", f"graph{suffix}", "--quiet") == 0
    text = Path(f"graph{suffix}").read_text(encoding="utf-8")
    assert text.startswith({".svg": "<svg ", ".dot": "digraph "}[suffix])
    assert re.search(r"\d+ \w+", text)  # a cost and its unit
    assert "change from the reference" in text


def test_graph_is_of_one_program_and_of_a_known_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("strings.c", "matrix.c", "--graph", "graph.svg") == 2
    assert "a graph shows one program, not 2" in capsys.readouterr().err
    assert optimize("strings.c", "--graph", "graph.png") == 2
    assert "expected a name that ends in .dot or .svg" in capsys.readouterr().err
