"""burnish replay: a result is what it was, or the difference is said."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.core.result import Result
from tests.sources import DATA

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with results of two programs, made once."""
    folder = tmp_path_factory.mktemp("optimized")
    for name in ("dispatch.c", "floating.c"):
        shutil.copy(DATA / name, folder)
    files = [str(folder / name) for name in ("dispatch.c", "floating.c")]
    arguments = ["--budget", "6", "--workers", "1", "--quiet", "-o", str(folder)]
    assert main(["optimize", *files, *arguments, "--result", str(folder / "found.jsonl")]) == 0
    return folder


@pytest.fixture
def folder(optimized: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of it that may be changed."""
    copy = tmp_path / "copy"
    shutil.copytree(optimized, copy)
    return copy


def rows(folder: Path) -> list[Result]:
    return [Result.from_json(line) for line in (folder / "found.jsonl").read_text().splitlines()]


def write(folder: Path, *lines: str) -> str:
    path = folder / "changed.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_result_is_the_same_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(folder / "found.jsonl")]) == 0
    assert capsys.readouterr().out.count("the same again") == 2


def test_json_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(folder / "found.jsonl"), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["same"], line["problem"]) for line in lines] == [(True, ""), (True, "")]


def test_program_that_is_gone_does_not_keep_others_from_being_replayed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (row.to_json() for row in rows(folder))
    gone = json.dumps(json.loads(first) | {"source": ["gone.c"]})
    for command in ("replay", "validate"):
        assert main([command, write(folder, gone, second), "--json"]) == 2
        shown, error = capsys.readouterr()
        assert error == "burnish: error: gone.c: no such file\n"
        assert json.loads(shown)["program"] == rows(folder)[1].program


def test_program_may_have_moved(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    shutil.copytree(DATA, tmp_path / "sources")
    monkeypatch.chdir(tmp_path / "deep" / "er")
    line = json.loads(rows(folder)[0].to_json()) | {"source": ["gone/dispatch.c", "-DNDEBUG"]}
    moved = ["--program", "../../sources/dispatch.c"]
    assert main(["replay", write(folder, json.dumps(line)), *moved]) == 0
    assert "the same again" in capsys.readouterr().out


def test_results_replay_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("src", "in", "other"):
        (tmp_path / name).mkdir()
    shutil.copy(DATA / "matrix.c", tmp_path / "src")
    (tmp_path / "in" / "two.h").write_text("#define TWO 2\n")
    (tmp_path / "src" / "two.c").write_text("#include <two.h>\nint f(int x) { return x * TWO; }\n")
    (tmp_path / "src" / "text.ll").write_text("define i32 @f() {\n  ret i32 1\n}\n")
    monkeypatch.chdir(tmp_path)
    options = ["--budget", "3", "--workers", "1", "--result", "r.jsonl"]
    assert main(["optimize", "src", "src/text.ll", "-o", "out", *options, "--", "-Iin"]) == 0
    monkeypatch.chdir(tmp_path / "other")
    capsys.readouterr()
    assert main(["replay", "../r.jsonl"]) == 0
    assert capsys.readouterr().out.count("the same again") == 3
    assert main(["validate", "../r.jsonl"]) == 0
    assert main(["compare", "../r.jsonl"]) == 0


def test_program_elsewhere_is_compiled_as_the_result_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "two.h").write_text("#define TWO 2\n")
    (tmp_path / "two.c").write_text("#include <two.h>\nint f(int x) { return x * TWO * FACTOR; }\n")
    options = ["--budget", "3", "--workers", "1", "--level", "O2", "--result", "r.jsonl"]
    assert main(["optimize", "two.c", *options, "--", "-Iin", "-DFACTOR=3"]) == 0
    assert main(["replay", "r.jsonl", "--program", "./two.c"]) == 0
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    again = ["replay", "../r.jsonl", "--program", "../two.c"]
    assert main([*again, "--", "-I../in", "-DFACTOR=3"]) == 0
    assert main([*again, "--", "-I../in", "-DFACTOR=4"]) == 1
    capsys.readouterr()


def test_changed_program_is_noticed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = rows(folder)[0]
    other = folder / "other.c"
    other.write_text("int f(void) { return 1; }\n")
    assert main(["replay", write(folder, first.to_json()), "--program", str(other)]) == 1
    assert "the program is not the same" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": 1.0}, "code-growth<=1 and linked-growth<=1 is "),
        ({"trace": ["clang<O3>"], "fallback": ""}, "loaded-bytes is |another state"),
    ],
)
def test_changed_result_is_noticed(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], message: str
) -> None:
    line = json.dumps(json.loads(rows(folder)[0].to_json()) | change)
    assert main(["replay", write(folder, line)]) == 1
    assert re.search(message, capsys.readouterr().out)


@pytest.mark.parametrize(
    "line", ["", "{}", "[1, 2]", "no result", '{"trace": 3}', '{"trace": [], "more": 1}']
)
def test_what_is_no_result_is_an_input_error(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert main(["replay", write(folder, line)]) == 2
    assert capsys.readouterr().err.startswith("burnish: error: ")


def test_missing_file_is_an_input_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / "missing.jsonl")]) == 2
    assert "missing.jsonl" in capsys.readouterr().err


def test_unknown_task_is_an_input_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = json.dumps(json.loads(rows(folder)[0].to_json()) | {"task": "llvm_passes-v99"})
    assert main(["replay", write(folder, line)]) == 2
    assert "llvm_passes-v99" in capsys.readouterr().err
