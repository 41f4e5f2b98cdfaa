"""burnish optimize on engines: the files, rows and exit codes of one machine."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.cli.jobs import search_shards
from burnish.cli.jobs.job import Job, SearchSettings
from burnish.cli.jobs.search_shards import outcome_of, shard_of
from burnish.cluster.shards import FAILURES, RESULTS, attempt, store
from burnish.core.errors import BurnishError, CompileError, CompilerTimeout, InputError, MissingTool
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation import Strategy
from burnish.search import Budget
from burnish.tasks.llvm_passes import TASK
from burnish.workers.worker import Limits
from tests.cluster import work
from tests.cluster.test_engines import ENGINES
from tests.sources import DATA

NAMES = ("matrix.c", "strings.c", "structs.c")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with some programs, and the options of engines."""
    for name in NAMES:
        shutil.copy(DATA / name, tmp_path)
    tables = (f"[{name}]\nslots = 2\n" for name in ("local", "submitit", "ray", "slurm"))
    (tmp_path / "engines.toml").write_text("".join(tables))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words_of(*words: str) -> list[str]:
    settings = ["--budget", "20", "--objective", "text-bytes", "--workers", "1"]
    return ["optimize", *NAMES, *words, *settings, "--quiet"]


def on(name: str) -> list[str]:
    """Return the options of an engine with two slots."""
    if name != "local":
        pytest.importorskip("ray" if name == "ray" else "submitit")
    return ["--on", name, "--engine-options", "engines.toml"]


def rows(path: str) -> dict[str, Result]:
    """Return a file's results by program, without times."""
    found = [Result.from_json(line) for line in Path(path).read_text().splitlines()]
    assert len({row.program for row in found}) == len(found)
    return {row.program: replace(row, seconds=0.0) for row in found}


def files(root: str) -> dict[str, bytes]:
    """Return the content of all files of a folder."""
    return {path.name: path.read_bytes() for path in Path(root).iterdir()}


def left(shards: str) -> list[str]:
    """Return the results of shards that are not yet written elsewhere."""
    folder = Path(shards) / RESULTS
    return [path.name for path in folder.iterdir() if path.suffix == ".json"] if folder.exists() else []


Outcome = tuple[Mapping[str, Result], Mapping[str, bytes]]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Return the rows and the outputs of --jobs."""
    folder = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in NAMES:
            shutil.copy(DATA / name, folder)
        assert main(words_of("--jobs", "2", "--result", "r.jsonl", "-o", "out")) == 0
        return rows("r.jsonl"), files("out")


@pytest.mark.parametrize("name", ENGINES)
def test_rows_and_outputs_do_not_depend_on_the_engine(name: str, expected: Outcome) -> None:
    assert main(words_of(*on(name), "--result", "r.jsonl", "-o", "out")) == 0
    assert (rows("r.jsonl"), files("out")) == expected
    assert not left("r.jsonl.shards")


def test_what_has_a_row_is_left_out(expected: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    assert main(["optimize", "strings.c", *words_of("--result", "r.jsonl", "-o", "out/strings.o")[4:]]) == 0
    first = Path("r.jsonl").read_bytes()
    Path("out/strings.o").unlink()
    capsys.readouterr()
    assert main(words_of(*on("local"), "--result", "r.jsonl", "--resume", "-o", "out")) == 0
    assert "done before: 1 of 3" in capsys.readouterr().out
    assert Path("r.jsonl").read_bytes().startswith(first)
    assert (rows("r.jsonl"), files("out")) == expected


STOPPED = """
import os, sys
from burnish.cli import main
from burnish.cli.jobs.runs import OptimizeRun

def keep_or_stop(self, *arguments, **named):
    if self.results:
        os.kill(os.getpid(), int(sys.argv[1]))
    keep(self, *arguments, **named)

keep, OptimizeRun._keep = OptimizeRun._keep, keep_or_stop
sys.exit(main(sys.argv[2:]))
"""  # a driver that gets a signal before it writes the second output


RESUMED = ["--result", "r.jsonl", "--resume"]
SHARDS = ["--shards", "r.jsonl.shards"]


@pytest.mark.parametrize(
    ("how", "outputs", "kept"),
    [
        (signal.SIGKILL, 1, RESUMED),
        (signal.SIGINT, 2, SHARDS),
        pytest.param(signal.SIGKILL, 1, SHARDS, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 2, RESUMED, marks=pytest.mark.slow),
    ],
)
def test_a_stopped_driver_goes_on(
    how: signal.Signals, outputs: int, kept: list[str], expected: Outcome
) -> None:
    words = words_of(*on("local"), *kept, "-o", "out")
    Path("engines.toml").write_text("[local]\nslots = 1\n")
    command = [sys.executable, "-c", STOPPED, str(int(how)), *words]
    driver = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True)
    if how == signal.SIGINT:
        assert driver.returncode == 130
        again = "with --resume continues" if "--resume" in kept else "continues"
        assert f"1 of 3 files were not begun; the same command {again}" in driver.stderr
    before = files("out")
    assert len(before) == outputs
    assert before.items() <= expected[1].items()
    assert len(left("r.jsonl.shards")) >= (2 - outputs if "--resume" in kept else 2)
    assert main(words) == 0
    assert files("out") == expected[1]
    assert not left("r.jsonl.shards")


def test_shards_that_fail_are_listed_with_their_logs(
    expected: Outcome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(search_shards, "search_or_error", work.search_or_die)
        assert main(words_of(*on("local"), "--shards", "s", "-o", "out")) == 1
    shown, error = capsys.readouterr()
    assert files("out") == {"strings.o": expected[1]["strings.o"]}
    assert "wrote out/strings.o" in shown
    listed = error[error.index("burnish: 2 of 3 failed: matrix.c, structs.c\n") :].splitlines()[1:]
    assert [line.partition(": its process was lost 3 times")[0] for line in listed[:1]] == [
        "burnish: matrix.c"
    ]
    assert listed[1].startswith("burnish: structs.c: ValueError: no square of 0; see s/failures/")
    for line in listed:
        assert Path(line.rpartition("; see ")[2]).is_file()
    assert len(list((Path("s") / FAILURES).iterdir())) == 2
    assert main(words_of(*on("local"), "--shards", "s", "-o", "out")) == 0
    assert files("out") == expected[1]
    assert not list((Path("s") / FAILURES).iterdir())


def test_bad_programs_do_not_keep_others_from_being_optimized(
    expected: Outcome, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.c").write_text("int f( {\n")
    (_, *words) = words_of(*on("local"), "--shards", "s", "-o", "out")
    assert main(["optimize", "broken.c", "missing.c", *words]) == 2
    shown, error = capsys.readouterr()
    assert "all 3" in shown
    assert "burnish: error: broken.c: clang failed\nbroken.c:1:8: error: " in error
    assert "burnish: error: missing.c: no such file\n" in error
    assert error.endswith("burnish: 2 of 5 failed: broken.c, missing.c\n")
    assert files("out") == expected[1]


def test_an_error_of_a_search_is_that_of_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for where in (["--jobs", "1"], [*on("local"), "--shards", "s"]):
        words = ["strings.c", *where, "--objective", "seconds", "--budget", "1", "--quiet"]
        code = main(["optimize", *words])
        told.append((code, *capsys.readouterr()))
    assert told[0] == told[1]
    assert told[0][0] == 2
    assert not left("s")


@pytest.mark.parametrize(
    "error", [CompileError("a.c: clang failed\nmore"), CompilerTimeout("no answer"), MissingTool("no clang")]
)
def test_errors_come_back_with_their_class(
    error: BurnishError, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*_: object) -> Result:
        raise error

    class Own(InputError):
        """An error of another package."""

    monkeypatch.setattr(search_shards, "search_job", search)
    for raised, kind in ((error, type(error)), (Own("own"), InputError)):
        error = raised
        shard = shard_of(TASK, JOB, SETTINGS, "random")
        for part in (RESULTS, FAILURES):
            (folder / part).mkdir(exist_ok=True)
        store(folder, attempt(shard))
        found = outcome_of(folder, shard.name, "")
        assert type(found) is kind
        assert str(found) == str(raised)


def job(name: str = "a.c", content: bytes = b"a", output: str = "a.o", source: str = "a.c") -> Job:
    """Return a job that nobody does."""
    return Job(Program(name, "llvm", content), (source,), Path(output))


JOB = job()
SETTINGS = SearchSettings(Budget(evaluations=5, workers=1), "text-bytes", Strategy("random"))


def test_a_shard_has_another_name_if_its_result_may_differ() -> None:
    def name(
        task: Task = TASK, one: Job = JOB, settings: SearchSettings = SETTINGS, method: str = "random"
    ) -> str:
        return shard_of(task, one, settings, method).name

    assert name() == name() == name(one=job(output="b.o"))
    others = [
        name(one=job("b.c")),
        name(one=job(content=b"b")),
        name(one=job(source="b.c")),
        name(one=replace(JOB, variants={"O0": Program("a.c", "llvm", b"b")})),
        name(settings=replace(SETTINGS, budget=Budget(evaluations=6, workers=1))),
        name(settings=replace(SETTINGS, objective="ir-instructions")),
        name(settings=replace(SETTINGS, strategy=Strategy("random", seed=1))),
        name(settings=replace(SETTINGS, limits=Limits(deadline_seconds=1))),
        name(settings=replace(SETTINGS, bundle=True)),
        name(method="random@another digest"),
        name(replace(TASK, options={"level": "O2"})),
        name(replace(TASK, checks=replace(TASK.checks, toolchain=lambda: {"LLVM": "22"}))),
    ]
    assert len({name(), *others}) == 1 + len(others)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "local"], "--on local: expected --result FILE, or --shards FOLDER"),
        (
            ["--on", "local", "--shards", "s", "--jobs", "2"],
            "--jobs 2 is not for --on local: the engine decides",
        ),
        (["--engine-options", "engines.toml"], "--engine-options: expected --on ENGINE, too"),
        (["--shards", "s"], "--shards s: expected --on ENGINE, too"),
        (["--on", "local", "--shards", "s", "--graph", "g.svg"], "--graph g.svg is not for --on"),
        (["--on", "local", "--shards", "s", "--remember", "m"], "--remember m is not for --on"),
        (["--on", "slrum", "--shards", "s"], "no engine named 'slrum'; did you mean 'slurm'"),
    ],
)
def test_options_that_have_no_effect_or_miss_another_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words_of(*words, "-o", "out")) == 2
    assert said in capsys.readouterr().err
    assert not list(Path("s").glob("results/*"))
