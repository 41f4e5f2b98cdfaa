"""burnish optimize searches passes and code generation, where nobody asks for one of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from burnish import _native
from burnish.cli import main
from burnish.core.result import Result
from burnish.core.task import Task
from tests.sources import DATA


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None) -> None:
    """Work in a folder of its own."""
    for name in ("strings.c", "structs.c"):
        shutil.copy(DATA / name, tmp_path)
    monkeypatch.chdir(tmp_path)


def chosen_task(*words: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the task that a command would search, without the search."""
    names: list[str] = []

    class Chosen(Exception):
        pass

    def note(task: Task, *_: object, **__: object) -> None:
        names.append(task.name)
        raise Chosen

    monkeypatch.setattr("burnish.cli.optimize.OptimizeRun", note)
    with pytest.raises(Chosen):
        main(["optimize", "strings.c", *words])
    return names[0]


@pytest.mark.parametrize(
    ("words", "with_code"),
    [
        ("", True),
        ("--budget 2s --objective text-bytes -o out.o -- -Iinclude -DX=1", True),
        ("--budget 60 --policy none", True),
        ("--budget 59", False),
        ("--budget 1s", False),
        ("--objective ir-instructions", False),
        ("--objective text-bytes^0.5*ir-instructions^0.5", False),
        ("-o out.ll", False),
        ("--task llvm_passes", False),
        ("--level O2", False),
        ("--remember found", False),
        ("--policy llvm_passes-text-bytes", False),
        ("--graph searched.svg", False),
        ("-- -ffunction-sections", False),
    ],
)
def test_code_generation_is_searched_where_it_pays(
    words: str, with_code: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = chosen_task("--workers", "1", *words.split(), monkeypatch=monkeypatch)
    assert found == ("llvm_passes_and_codegen" if with_code else "llvm_passes")


def test_what_a_search_of_both_found_is_what_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", "structs.c", "-o", "out.o", "--json", "--budget", "60", "--workers", "1"]) == 0
    result = Result.from_json(capsys.readouterr().out)
    assert result.task == "llvm_passes_and_codegen-v3"
    assert "begin(llvm_codegen)" in result.trace
    assert _native.object_sizes(Path("out.o").read_bytes()).loaded_bytes == result.cost
