"""burnish explore: its arguments, its errors, its address, and its end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.core.result import Result
from burnish.tasks.llvm_passes import TASK
from tests.cli.results import result_of, written
from tests.conftest import children
from tests.sources import DATA
from tests.waiting import MOST_SECONDS, alive, wait_until

pytest.importorskip("uvicorn")

ROW = result_of("gone.c", "0" * 32, "mem2reg")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with one program."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(DATA / "matrix.c", tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the error of a wrong command, which is one line."""
    assert main(["explore", *words, "--no-browser"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("burnish: error: ")
    assert err.count("\n") == 1
    return err


CONTENTS = {
    "empty.jsonl": "",
    "cut.jsonl": ROW.to_json()[:-5],
    "text.jsonl": "hello\n",
    "later.jsonl": ROW.to_json().replace('"seed"', '"colour": "red", "seed"') + "\n",
    "earlier.jsonl": ROW.to_json().replace('"seed": 0, ', "") + "\n",
    "damaged.jsonl": f'{{"task": \n{ROW.to_json()}\n',
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty.jsonl", "the file is empty; expected results of burnish optimize"),
        ("cut.jsonl", "its only line is incomplete; expected results of burnish optimize"),
        ("text.jsonl", "does not hold JSON objects; expected results of burnish optimize"),
        (
            "later.jsonl",
            "line 1: not a result: this version of burnish has no field 'colour'; read the file with",
        ),
        ("earlier.jsonl", "line 1: not a result: the field 'seed' is missing; read the file with"),
        ("damaged.jsonl", "line 1: not a result"),
        ("missing.jsonl", "No such file or directory; expected results of burnish optimize"),
    ],
)
def test_file_without_usable_results_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    if name in CONTENTS:
        (folder / name).write_text(CONTENTS[name])
    assert f"{name}" in (error := refused(capsys, name))
    assert said in error


def test_folder_that_is_no_run_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other").mkdir()
    (folder / "other/notes.jsonl").write_text('{"a": 1}\n')
    assert "other: not a run; expected the folder of a training (log.jsonl, config.json)" in refused(
        capsys, "other"
    )


def test_folder_of_trainings_names_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (folder / "runs" / name).mkdir(parents=True)
        (folder / "runs" / name / "log.jsonl").write_text("")
    assert "runs: has 2 runs; give one, such as runs/a" in refused(capsys, "runs")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("results.jsonl --objective text-bytes", "--objective is for a program; results.jsonl is a run"),
        ("results.jsonl --level O3", "--level is for a program; results.jsonl is a run"),
        ("results.jsonl -- -Iinclude", "options for the compiler need --program"),
        ("matrix.c --program matrix.c", "--program is for results; matrix.c is a program itself"),
        ("run --program matrix.c", "--program is for results; run is a training"),
        ("results.jsonl --port 65536", "--port 65536"),
        ("matrix.c --objective bytez", "no objective named 'bytez'"),
        ("gone.c", "gone.c"),
    ],
)
def test_options_without_effect_and_wrong_values_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    written(folder, ROW)
    (folder / "run").mkdir()
    (folder / "run/log.jsonl").write_text('{"iteration": 0}\n')
    first, dashes, compiler = words.partition(" -- ")
    options = [*first.split(), "--no-browser", *(["--", compiler] if dashes else [])]
    assert main(["explore", *options]) == 2
    assert said in capsys.readouterr().err


def test_port_in_use_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, ROW)
    with served("results.jsonl") as (_, address):
        port = address.split(":")[2].partition("/")[0]
        assert f"--port {port}: " in refused(capsys, "results.jsonl", "--port", port)


MISSING = """
import sys
from burnish.cli import main

class Missing:
    def find_spec(self, name, *_):
        if name == {package!r}:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Missing())
sys.exit(main(["explore", "matrix.c", "--no-browser"]))
"""


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra_the_error_names_the_command(package: str) -> None:
    code = MISSING.format(package=package)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert f"burnish explore needs {package}: pip install '.[explore]'" in ran.stderr
    assert "Traceback" not in ran.stderr


@contextmanager
def served(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command, and yield the process and the printed address."""
    command = [sys.executable, "-m", "burnish.cli", "explore", *words, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def status(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=MOST_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def post(address: str, body: str) -> bytes:
    with urllib.request.urlopen(address, body.encode(), timeout=MOST_SECONDS) as answer:
        return bytes(answer.read())


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have started."""
    found = [pid]
    for parent in found:
        found += children(parent)
    return found[1:]


def interrupted(process: subprocess.Popen[str], address: str) -> None:
    """End the command by Ctrl-C; its compilers end, its address does not answer, and it says nothing more."""
    compilers = descendants(process.pid)
    assert compilers
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=MOST_SECONDS)
    assert process.returncode == 0
    assert err.strip() == ""
    wait_until(lambda: not any(map(alive, compilers)))
    with pytest.raises(urllib.error.URLError):
        status(address)


def test_printed_address_answers_until_ctrl_c_ends_the_compilers() -> None:
    with served("matrix.c") as (process, address):
        assert status(address) == 200
        assert status(address.rstrip("/") + "x/") == 403
        assert b'"cost"' in post(f"{address}api/state", '{"trace": ["mem2reg"]}')
        interrupted(process, address)


def test_ctrl_c_ends_the_compiler_of_a_result_that_was_opened(folder: Path) -> None:
    program = TASK.source().load("matrix.c").program
    written(folder, replace(ROW, program="matrix.c", digest=program.digest, source=("matrix.c",)))
    with served("results.jsonl") as (process, address):
        assert b"live/1/" in post(f"{address}api/open", '{"key": "0:0"}')
        assert status(f"{address}live/1/") == 200
        interrupted(process, address)


def test_program_at_another_path_is_opened(folder: Path) -> None:
    program = TASK.source().load("matrix.c").program
    row = Result.from_json(replace(ROW, digest=program.digest).to_json())
    written(folder, row)
    with served("results.jsonl", "--program", "matrix.c") as (_, address):
        assert b"live/1/" in post(f"{address}api/open", '{"key": "0:0"}')
    with served("results.jsonl") as (_, address):
        with pytest.raises(urllib.error.HTTPError) as refusal:
            post(f"{address}api/open", '{"key": "0:0"}')
        assert b"gone.c" in refusal.value.read()
