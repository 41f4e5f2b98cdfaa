"""burnish optimize writes over what it wrote, and over nothing else without being told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.cli.jobs import outputs
from burnish.core.errors import InputError
from tests.sources import DATA

QUICK = ["--budget", "2", "--workers", "1", "--quiet", "--task", "llvm_passes"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None) -> Path:
    """A folder with two programs; make has built one of them."""
    for name in ("strings.c", "matrix.c"):
        shutil.copy(DATA / name, tmp_path)
    (tmp_path / "matrix.o").write_bytes(b"of make")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    return tmp_path


def optimize(*arguments: str) -> int:
    return main(["optimize", *arguments, *QUICK])


def test_what_make_wrote_stays(capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize(".") == 2
    said = capsys.readouterr().err
    assert "matrix.o: burnish did not write this file; nothing was done" in said
    assert "strings.o" not in said and "--force" in said and "-o" in said
    assert Path("matrix.o").read_bytes() == b"of make"
    assert not Path("strings.o").exists()


def test_what_burnish_wrote_is_written_again_until_another_does() -> None:
    assert optimize("strings.c") == 0
    assert optimize("strings.c") == 0
    Path("strings.o").write_bytes(b"of make")
    assert optimize("strings.c") == 2
    assert optimize("strings.c", "--force") == 0
    assert Path("strings.o").read_bytes().startswith(b"\x7fELF")


def test_a_file_that_is_named_is_written_over() -> None:
    assert optimize("matrix.c", "-o", "matrix.o") == 0
    assert Path("matrix.o").read_bytes().startswith(b"\x7fELF")


def test_a_folder_that_is_named_may_have_other_files_in_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    Path("out/strings.o").write_bytes(b"of make")
    assert optimize("strings.c", "matrix.c", "-o", "out") == 2
    assert "out/strings.o" in capsys.readouterr().err


def test_a_linked_program_is_no_exception() -> None:
    Path("linked.o").write_bytes(b"of make")
    assert optimize("strings.c", "matrix.c", "--link") == 2
    assert Path("linked.o").read_bytes() == b"of make"


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.o" for number in range(8)]
    for path in paths:
        path.write_bytes(b"of make")
    with pytest.raises(InputError, match=r"4\.o and 3 more: burnish did not write these files"):
        outputs.check_not_in_the_way(paths)


def test_the_note_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST_BYTES", 650)
    for number in range(40):
        outputs.note_written(str(number).encode())
    (tmp_path / "last.o").write_bytes(b"39")
    outputs.check_not_in_the_way([tmp_path / "last.o"])
    assert (tmp_path / ".cache/burnish/written").stat().st_size <= 650 + 65
