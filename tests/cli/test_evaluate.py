"""burnish evaluate: methods compared, and a folder of that shown again."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from burnish import _native
from burnish.cli import main
from burnish.evaluation.rows import Row, read_rows, write_rows
from tests.cluster.work import compare_or_fail
from tests.evaluation.rows import row
from tests.sources import DATA
from tests.waiting import wait_until

FILES = [str(DATA / name) for name in ("hash_table.c", "matrix.c")]
METHODS = ["--methods", "random,O3", "--objective", "ir-instructions"]

WORDS = ["evaluate", *FILES, "--methods", "random,genetic", "--budget", "60", "--json"]  # --json: no pictures

pytestmark = pytest.mark.usefixtures("fonts")


def evaluate(folder: Path, *words: str) -> int:
    """Run the command on two files."""
    return main(["evaluate", *FILES, *METHODS, "--budget", "6", "--out", str(folder), *words])


@pytest.mark.usefixtures("nothing_left")
def test_methods_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert evaluate(folder) == 0
    out = capsys.readouterr().out
    assert "6 evaluations: 2 programs" in out and "random / O3" in out and "Ratios of ir-instructions" in out
    assert "<svg" in (folder / "report.html").read_text()
    rows = read_rows(folder / "rows.jsonl")
    assert [(item.method, item.valid) for item in rows] == [
        ("random", True),
        ("O3", True),
        ("O3", True),
        ("random", True),
    ]
    assert json.loads((folder / "run.json").read_text())["objective"] == "ir-instructions"
    before = (folder / "rows.jsonl").read_bytes()
    assert evaluate(folder, "--json") == 0  # all is there
    assert (folder / "rows.jsonl").read_bytes() == before
    *summaries, pair = map(json.loads, capsys.readouterr().out.splitlines())
    assert [item["method"] for item in summaries] == ["random", "O3"]
    assert pair["pair"]["first"] == "random"


def test_command_of_a_report_has_no_path_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text('{"task": "of_another_package"}')
    (tmp_path / "run/rows.jsonl").write_text(row("a.c", 50.0).to_json() + "\n")
    assert main(["evaluate", f"--out={tmp_path / 'run'}"]) == 0
    text = (tmp_path / "run/report.html").read_text()
    assert "<dd>burnish evaluate --out=run</dd>" in text
    assert str(tmp_path) not in text


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left")
def test_methods_are_compared_without_some_actions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, board = tmp_path / "run", tmp_path / "board.jsonl"
    words = ["--methods", "mixed@shipped,O3", "--without", "outline*,clang*", "--append", str(board)]
    assert evaluate(folder, *words) == 0
    assert "Left out of the actions: clang*,outline*" in capsys.readouterr().out
    assert "Left out of the actions: clang*,outline*" in (folder / "report.html").read_text()
    assert json.loads((folder / "run.json").read_text())["options"]["without"] == "clang*,outline*"
    traces = [item.trace for item in read_rows(folder / "rows.jsonl") if item.method == "mixed@shipped"]
    assert any(traces)
    assert not [text for trace in traces for text in trace if text.startswith(("clang", "outline"))]
    (first, _) = map(json.loads, board.read_text().splitlines())
    assert first["options"] == {"without": "clang*,outline*"}
    assert "--without 'clang*,outline*'" in first["command"] and "--level" not in first["command"]


@pytest.mark.usefixtures("nothing_left")
def test_methods_and_budgets_are_added_to_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert evaluate(folder, "--sample", "1", "--json") == 0
    words = ["--methods", "random,Os", "--budget", "3", "--out", str(folder), "--sample", "1", "--json"]
    assert main(["evaluate", FILES[0], *words, FILES[1]]) == 0
    assert [(item.budget, item.method) for item in read_rows(folder / "rows.jsonl")] == [
        ("6 evaluations", "random"),
        ("6 evaluations", "O3"),
        ("3 evaluations", "random"),
        ("3 evaluations", "Os"),
    ]


def test_an_engine_gives_the_same_rows_and_makes_removed_ones_again(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    assert evaluate(here, "--json") == evaluate(there, "--json", "--on", "local") == 0
    first = complete(there)
    assert sorted(map(without_times, complete(here))) == sorted(map(without_times, first))
    assert not list((there / "shards" / "results").iterdir())
    (there / "rows.jsonl").write_bytes(write_rows(row for row in first if row.program != FILES[0]))
    assert evaluate(there, "--json", "--on", "local") == 0
    assert sorted(map(without_times, complete(there))) == sorted(map(without_times, first))


@pytest.mark.parametrize("where", [[], ["--on", "local"]])
def test_times_of_another_kind_of_machine_are_not_compared_with(
    where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", FILES[0], "--budget", "1s", "--out", str(tmp_path), "--json", *where]
    assert main([*words, "--methods", "O3"]) == 0
    (row,) = complete(tmp_path)
    assert row.machine == _native.host_machine().cpu
    (tmp_path / "rows.jsonl").write_bytes(write_rows([replace(row, machine="pdp11")]))
    assert main([*words, "--methods", "O3,O2"]) == 2
    said = f"has times of a pdp11, and this machine is a {row.machine}; these cannot be compared"
    assert said in capsys.readouterr().err
    assert len(complete(tmp_path)) == 1


def test_programs_that_fail_on_an_engine_are_listed_with_their_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("burnish.cluster.evaluating.evaluate_case", compare_or_fail)
    assert evaluate(tmp_path, "--on", "local") == 2
    shown, error = capsys.readouterr()
    (log,) = (tmp_path / "shards" / "failures").iterdir()
    said = f"ValueError: no square of 0; see {log}"
    assert error == f"{FILES[0]}: left out: {said}\n"
    assert "".join(f"{FILES[0]}: {said}".split()) in "".join(shown.split())
    assert "6 evaluations: 1 program" in shown


def test_nothing_left_to_compare_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.ll"
    broken.write_text("not a module\n")
    words = ["--methods", "random", "--budget", "1", "--out", str(tmp_path / "run")]
    assert main(["evaluate", str(broken), *words]) == 2
    assert "no program is left to compare: " in (error := capsys.readouterr().err)
    assert "broken.ll was left out" in error


def test_bad_file_does_not_keep_others_from_being_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("int f( {\n")
    words = ["--methods", "Os,O3", "--budget", "1", "--out", str(tmp_path / "run")]
    assert main(["evaluate", str(broken), str(tmp_path / "missing.c"), FILES[0], *words]) == 2
    shown, error = capsys.readouterr()
    told = "".join(error.split())  # wherever the lines are broken
    assert "broken.c:leftout:expectedparameterdeclarator" in told and "missing.c:nosuchfile" in told
    assert "1 evaluation: 1 program" in shown and len(read_rows(tmp_path / "run" / "rows.jsonl")) == 2


def test_row_that_the_disk_does_not_take_is_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "burnish.cli", "evaluate", "hash_table.c", "--methods", "O3"]
    done = subprocess.run(
        [*command, "--budget", "1", "--out", str(tmp_path)],
        cwd=DATA,  # a short name: programs.jsonl has the path, and must fit
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (800, 800)),
    )
    assert (tmp_path / "programs.jsonl").stat().st_size < 800 < len(done.stdout.splitlines()[0])
    assert done.returncode == 2
    assert "rows.jsonl: cannot write there: File too large" in done.stderr and "Traceback" not in done.stderr
    assert Row.from_json(done.stdout.splitlines()[0]).method == "O3"


def test_folders_are_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "src").mkdir()
    shutil.copy(FILES[0], tmp_path / "src")
    words = ["--methods", "Os,O3", "--budget", "1", "--out", str(tmp_path / "run")]
    assert main(["evaluate", str(tmp_path / "src"), *words]) == 0
    shown = capsys.readouterr().out
    assert (
        "1 evaluation: 1 program" in shown
        and "unclear" not in shown
        and "different" not in shown
        and "[0" not in shown
    )


def test_folder_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    assert evaluate(folder, "--sample", "1", "--json") == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for change in ("--objective text-bytes", "--seed 1", "--level O2", "--without gvn"):
        assert evaluate(folder, *change.split()) == 2
        assert "take another folder" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--methods", "gentic", "--out", "x"], "did you mean 'genetic'"),
        (["--methods", "random", "--out", "x", "--budget", "soon"], "expected short, long"),
        (["--methods", "random", "--out", "x", "--objective", "size"], "no objective named 'size'"),
        (["--methods", "random", "--out", "x", "--jobs", "999"], "999 jobs: expected 1 to"),
    ],
)
def test_bad_words_are_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", *FILES, *words]) == 2
    assert said in capsys.readouterr().err


def test_programs_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--methods", "random", "--out", str(tmp_path / "x")]) == 2
    assert "which programs?" in capsys.readouterr().err


def started(folder: Path, rows: int) -> subprocess.Popen[bytes]:
    """Start an evaluation, in a group of its own, and wait until it has so many rows."""
    process = subprocess.Popen(
        [sys.executable, "-m", "burnish.cli", *WORDS, "--out", str(folder)],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: len(complete(folder)) >= rows, process)
    return process


def complete(folder: Path) -> list[Row]:
    """Return the rows that are there."""
    return read_rows(folder / "rows.jsonl")


def without_times(row: Row) -> tuple[object, ...]:
    """Return what does not depend on the clock."""
    return row.key, row.cost, row.trace, row.state, row.evaluations


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Return the rows of a run that nobody kills."""
    folder = tmp_path_factory.mktemp("whole")
    assert main([*WORDS, "--out", str(folder)]) == 0
    return complete(folder)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_killed_run_goes_on_to_the_same_rows(tmp_path: Path, whole: list[Row], how: signal.Signals) -> None:
    folder = tmp_path / "run"
    process = started(folder, 1)
    process.send_signal(how)
    out, _ = process.communicate(timeout=60)
    kept = complete(folder)
    assert 1 <= len(kept) < 4
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert b"rows are kept; the same command resumes" in out
    assert main([*WORDS, "--out", str(folder)]) == 0
    rows = complete(folder)
    assert rows[: len(kept)] == kept and len(rows) == 4
    assert sorted(map(without_times, rows)) == sorted(map(without_times, whole))


@pytest.mark.usefixtures("nothing_left")
def test_runnable_program_is_run(tmp_path: Path) -> None:
    words = ["--methods", "random", "--budget", "2", "--out", str(tmp_path / "run"), "--json"]
    assert main(["evaluate", "kernels:queens@small", *words]) == 0
    (found,) = complete(tmp_path / "run")
    assert "outputs equal -O0's on 1 input" in found.checks


@pytest.mark.usefixtures("nothing_left")
def test_folder_is_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert evaluate(folder, "--json", "--budget", "30") == 0
    capsys.readouterr()
    log = tmp_path / "ppo" / "log.jsonl"
    log.parent.mkdir()
    log.write_text('{"steps": 1, "return": 0.1}\n')
    words = ["--only", "O3,random", "--budget", "30", "--worth", "1", "--training", str(log)]
    assert main(["evaluate", *words, "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "O3 / random" in out and f"wrote {folder / 'report.html'}" in "".join(out.splitlines())
    report = (folder / "report.html").read_text()
    assert all(f"<h2>{name}</h2>" in report for name in ("Training", "Actions of winning traces", "Methods"))
    pictures = {path.name for path in folder.glob("*.svg")}
    assert pictures == {"improvement.svg", "programs.svg", "passes.svg", "training.svg"}
    (worth,) = map(json.loads, (folder / "worths.jsonl").read_text().splitlines())
    assert worth and all(isinstance(value, float) for value in worth.values())


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "not the folder of an evaluation"), (["--only", "x"], "not the folder of an evaluation")],
)
def test_other_folders_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["evaluate", "--out", str(tmp_path), *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [*FILES, "--split", "test", "--without", "gvn"],
            "--split, --without, PROGRAM: expected --methods LIST",
        ),
        (["--append", "b.jsonl", "--budget", "3", "--seed", "1"], "error: --append: expected --methods LIST"),
        (
            ["--methods", "O3", "--only", "O3", "--worth", "1"],
            "--only, --worth: these options are only for showing an existing folder",
        ),
        (["--on", "local"], "error: --on: expected --methods LIST"),
        (
            [FILES[0], "--methods", "O3", "--on", "local", "--jobs", "2"],
            "--jobs 2 is not for --on local: the engine decides; to limit it, write slots = 2",
        ),
        (
            [FILES[0], "--methods", "O3", "--engine-options", "engines.toml"],
            "--engine-options: expected --on ENGINE, too",
        ),
    ],
)
def test_options_without_an_effect_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    folder = tmp_path / "run"
    assert main(["evaluate", *words, "--out", str(folder)]) == 2
    assert said in capsys.readouterr().err
    assert not folder.exists()


def test_a_policy_for_another_objective_is_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", FILES[0], "--objective", "ir-instructions", "--budget", "4"]
    said = "trained for text-bytes, not for ir-instructions"
    assert main([*words, "--methods", "genetic@llvm_passes-text-bytes", "--out", str(tmp_path / "a")]) == 0
    assert said in capsys.readouterr().err
    assert main([*words, "--methods", "genetic@shipped", "--out", str(tmp_path / "b")]) == 0
    assert "policy" not in capsys.readouterr().err
