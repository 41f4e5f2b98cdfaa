"""burnish optimize: what was found is not lost, whatever happens."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from burnish import _native
from burnish.cli import main
from burnish.cli.jobs import runs
from burnish.cli.jobs.job import search_job
from burnish.core.result import Result
from burnish.search import Progress
from tests.sources import DATA


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None) -> Path:
    """Work in a folder with two files of one name, and a folder between two others."""
    work = tmp_path / "work"
    for name, source in (
        ("src/a.c", "matrix.c"),
        ("sub/a.c", "strings.c"),
        ("sub/deep/b.c", "structs.c"),
        ("sub/deep/c.cpp", "classes.cpp"),
    ):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / source, work / name)
    monkeypatch.chdir(work)
    return work


def optimize(*words: str, budget: str = "3") -> int:
    return main(["optimize", *words, "--budget", budget, "--workers", "1"])


def rows(path: str = "r.jsonl") -> list[Result]:
    return [Result.from_json(line) for line in Path(path).read_text().splitlines()]


def tree(root: str) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in Path(root).rglob("*") if path.is_file())


@pytest.mark.parametrize("words", [["src/a.c", "sub/a.c"], ["src", "sub/a.c"], ["src/a.c", "sub/a.c", "src"]])
@pytest.mark.parametrize("output", ["there", pytest.param("made", marks=pytest.mark.slow)])
def test_files_of_one_name_keep_their_tree(words: list[str], output: str) -> None:
    Path("there").mkdir()
    assert optimize(*words, "-o", output) == 0
    assert tree(output) == ["src/a.o", "sub/a.o"]
    sizes = [_native.object_sizes(Path(output, name).read_bytes()).text_bytes for name in tree(output)]
    assert sizes[0] != sizes[1]


def test_the_tree_is_below_the_current_folder_without_an_output(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("build").mkdir()
    monkeypatch.chdir("build")
    assert optimize("../src/a.c", "../sub/a.c") == 0
    assert tree(".") == ["src/a.o", "sub/a.o"]


def test_folders_are_all_their_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("sub", "-o", "out", "--json") == 0
    programs = [json.loads(line)["program"] for line in capsys.readouterr().out.splitlines()]
    assert programs == ["sub/a.c", "sub/deep/b.c", "sub/deep/c.cpp"]
    assert tree("out") == ["a.o", "deep/b.o", "deep/c.o"]


def test_compilation_database_gives_each_file_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    Path("src/two.c").write_text('#include "two.h"\nconst char *f(int x) { return x * BY ? WHERE : "no"; }\n')
    Path("src/include").mkdir()
    Path("src/include/two.h").write_text("#define WHERE __FILE__\n")
    command = "gcc -Iinclude -DBY={} -fconserve-stack -ffunction-sections -O2 -c two.c -o two.o"
    entries = [
        {"directory": str(Path("src").absolute()), "file": "two.c", "command": command.format(by)}
        for by in (1, 0)
    ]
    Path("compile_commands.json").write_text(json.dumps(entries))
    assert optimize("compile_commands.json", "-o", "out", "--result", "r.jsonl") == 0
    assert tree("out") == ["two.o", "two@2.o"]
    assert b".text.f" in Path("out/two.o").read_bytes()  # -ffunction-sections
    assert len({row.digest for row in rows()}) == 2
    assert main(["replay", "r.jsonl"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["src/a.c", "src/a.cpp", "-o", "out"], "src/a.c and src/a.cpp would both be written to out/a.o"),
        (["in.bc", "-o", "in.bc"], "the output of in.bc would overwrite the input in.bc"),
        (["src/a.c", "in.bc", "--link", "-o", "in.bc"], "would overwrite the input in.bc"),
        (["src/a.c", "sub/a.c", "-o", "src/a.c"], "src/a.c: expected a folder"),
        (["src/a.c", "--resume"], "--resume needs the file of results"),
        (["src/a.c", "--bundle"], "write them with --result or --json"),
        (["src/a.c", "--result", "nowhere/r.jsonl"], "nowhere/r.jsonl: cannot write there: No such file"),
        (
            ["src", "sub", "--jobs", "2", "--objective", "compile-seconds"],
            "--jobs is not for compile-seconds",
        ),
        (["empty"], "empty: there is no C or C"),
    ],
)
def test_what_would_be_lost_is_refused_before_any_search(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs, "search_job", None)  # nothing is searched
    Path("src/a.cpp").write_text("int f() { return 1; }\n")
    Path("in.bc").write_bytes(b"")
    Path("empty").mkdir()
    assert optimize(*words) == 2
    shown, error = capsys.readouterr()
    assert said in error and error.count("\n") == 1 and not shown
    assert not Path("out").exists()


def test_names_that_look_like_options() -> None:
    shutil.copy("src/a.c", "-dash.c")
    assert optimize("./-dash.c", "--result", "r.jsonl") == 0
    assert Path("-dash.o").exists()
    assert main(["replay", "r.jsonl"]) == 0


def test_bundle_replays_without_the_source(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert optimize("src/a.c", "sub/a.c", "--result", "r.jsonl", "--bundle") == 0
    shutil.rmtree("src")
    Path("sub/a.c").write_text("int changed;\n")
    assert main(["replay", "r.jsonl"]) == 0
    assert capsys.readouterr().out.count("the same again") == 2
    assert main(["validate", "r.jsonl", "--json"]) == 0
    damaged = json.loads(Path("r.jsonl").read_text().splitlines()[0])
    damaged["bundle"][""] = "not base64"
    Path("damaged.jsonl").write_text(json.dumps(damaged) + "\n")
    assert main(["replay", "damaged.jsonl"]) == 2
    assert "the program in the result is damaged" in capsys.readouterr().err


def test_resuming_does_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("src/a.c", "sub/a.c", "-o", "out", "--result", "r.jsonl") == 0
    first = Path("r.jsonl").read_text()
    Path("r.jsonl").write_text(first[:-40])  # killed in the midst of a line
    Path("out/src/a.o").unlink()
    capsys.readouterr()
    assert optimize("src", "sub/a.c", "-o", "out", "--result", "r.jsonl", "--resume") == 0
    assert "done before: 1 of 2" in capsys.readouterr().out
    assert Path("r.jsonl").read_text().startswith(first.splitlines()[0])
    assert [row.program for row in rows()] == ["src/a.c", "sub/a.c"]
    assert tree("out") == ["src/a.o", "sub/a.o"]
    for change in (["--seed", "1"], ["--budget", "2 evaluations"], ["--objective", "ir-instructions"]):
        before = len(rows())
        assert optimize("src/a.c", "-o", "out", "--result", "r.jsonl", "--resume", *change) == 0
        assert len(rows()) == before + (1 if change[0] != "--budget" else 0)  # the last --budget counts


def test_rows_of_an_earlier_run_stay_until_there_is_a_new_one() -> None:
    assert optimize("src/a.c", "--result", "r.jsonl") == 0
    before = rows()
    Path("bad.c").write_text("int f( {\n")
    assert optimize("bad.c", "--result", "r.jsonl") == 2
    assert rows() == before
    assert optimize("sub/a.c", "--result", "r.jsonl") == 0
    assert [row.program for row in rows()] == ["sub/a.c"]


def interrupt(monkeypatch: pytest.MonkeyPatch, evaluations: int, searches: int) -> None:
    """Let there be a Ctrl-C when so many searches have had so many evaluations each."""
    plain = runs._Phase.__call__
    had: dict[runs._Phase, int] = {}

    def called(self: runs._Phase, progress: Progress) -> None:
        plain(self, progress)
        had[self] = progress.evaluations
        if sum(each >= evaluations for each in list(had.values())) == searches:
            had.clear()
            monkeypatch.undo()
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(runs._Phase, "__call__", called)


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_one_ctrl_c_ends_the_run_and_keeps_what_was_found(
    jobs: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["src/a.c", "sub/a.c", "sub/deep/b.c", "sub/deep/c.cpp"]
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 30, int(jobs))
        words = ["-o", "out", "--result", "r.jsonl", "--quiet", "--jobs", jobs, "--objective", "text-bytes"]
        assert optimize(*files, *words, budget="100000") == 130
    shown, error = capsys.readouterr()
    done = ["src/a.c"] if jobs == "1" else ["src/a.c", "sub/a.c"]
    assert sorted(row.program for row in rows()) == done
    assert all(row.valid and not row.budget and row.evaluations >= 20 for row in rows())
    assert any(row.trace for row in rows()) and rows()[0].cost <= rows()[0].baselines["Oz"]
    assert tree("out") == [name.replace(".c", ".o") for name in done]
    assert all(name in shown for name in tree("out"))
    assert f"{4 - len(done)} of 4 files were not begun; the same command with --resume continues" in error
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    words.append("--resume")
    assert optimize(*files, *words, budget="2") == 0  # those that were cut off are searched, too
    assert len(rows()) == len(done) + 4


def test_a_removed_folder_is_one_line_and_the_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def remove(*arguments: object) -> Result:
        found = search_job(*arguments)  # type: ignore[arg-type]
        if found.program == "src/a.c":
            shutil.rmtree("out")
        else:
            Path("out").mkdir()
        return found

    monkeypatch.setattr(runs, "search_job", remove)
    assert optimize("src/a.c", "sub/a.c", "-o", "out", "--result", "r.jsonl") == 2
    shown, error = capsys.readouterr()
    assert "burnish: error: out/src: cannot write there: No such file or directory\n" in error
    assert "src/a.c: not everything could be written" in shown and "wrote out/sub/a.o" in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("{")]
    assert Result.from_json(line) == rows()[0]
    assert [row.program for row in rows()] == ["src/a.c", "sub/a.c"]


def test_a_removed_file_of_results_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def remove(*arguments: object) -> Result:
        Path("r.jsonl").unlink()
        return search_job(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "search_job", remove)
    assert optimize("src/a.c", "--result", "r.jsonl") == 2
    shown, error = capsys.readouterr()
    assert error == "burnish: error: r.jsonl: cannot write there: the file was removed\n"
    assert Path("a.o").exists()
    (line,) = [line for line in shown.splitlines() if line.startswith("{")]
    assert Result.from_json(line).program == "src/a.c"


@pytest.mark.parametrize("what", ["object", "results", "standard output"])
def test_a_full_disk_is_one_line_and_the_result_is_told(what: str) -> None:
    def no_space() -> None:
        if what == "object":
            resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))

    words = ["-o", "a.o", "--budget", "3", "--workers", "1"]
    words += ["--result", "/dev/full"] if what == "results" else []
    command = [sys.executable, "-m", "burnish.cli", "optimize", "src/a.c", *words]
    with Path("/dev/full" if what == "standard output" else "out.txt").open("w") as out:
        stdout = subprocess.PIPE if what == "object" else out
        done = subprocess.run(
            command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=no_space
        )
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("burnish: error: ")
    if what == "standard output":
        assert "No space left" in done.stderr
        assert Path("a.o").exists()
    else:
        assert "cannot write there: " in done.stderr
        shown = done.stdout if what == "object" else Path("out.txt").read_text()
        (line,) = [line for line in shown.splitlines() if line.startswith("{")]
        assert Result.from_json(line).program == "src/a.c"
        assert Path("a.o").exists() == (what == "results")
    assert not [path for path in Path().iterdir() if path.name.startswith(".a.o")]


def test_several_at_a_time_give_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    costs = []
    for jobs in ("1", "3"):
        assert optimize("src", "sub/deep", "-o", "out", "--jobs", jobs, "--result", "r.jsonl") == 0
        costs.append({row.program: (row.cost, row.trace) for row in rows()})
    assert costs[0] == costs[1] and len(costs[0]) == 3


@pytest.mark.slow
def test_a_policy_for_another_objective_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    said = "the policy that guides the search was trained for text-bytes, not for ir-instructions"
    words = ["src/a.c", "--objective", "ir-instructions"]
    assert optimize(*words, "--policy", "llvm_passes-text-bytes") == 0
    assert said in capsys.readouterr().err
    assert optimize(*words) == 0
    assert "policy" not in capsys.readouterr().err
