"""Files to programs: the same program wherever the file lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import CompileError
from burnish.llvm.programs import link_programs, load_program
from burnish.tasks.llvm_passes import TASK
from burnish.workers.sandbox import Sandbox
from tests.sources import DATA

SOURCES = {
    "src/hot.c": '#include "own.h"\n#include "deep/other.h"\n#include <shared.h>\n#include <assert.h>\n'
    "const char *where(int x) { assert(x); return OWN; }\n"
    "const char *names(void) { return __FILE__ __BASE_FILE__; }\n",
    "src/own.h": '#define OWN "the source\'s own"\nstatic const char *own(void) { return __FILE__; }\n'
    "const char *call(void) { return own(); }\n",
    "src/deep/other.h": '#include "../third.h"\n',
    "src/third.h": "const char *third(void) { return __FILE__; }\n",
    "include/shared.h": "const char *shared(void) { return __FILE__; }\n",
    "own.h": '#define OWN "of the current folder"\n',
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a source that says everywhere where it is."""
    for name, text in SOURCES.items():
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("debug", [(), ("-g",)], ids=["plain", "debug information"])
def test_digest_does_not_say_where_the_source_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, debug: tuple[str, ...]
) -> None:
    shutil.copytree(folder, folder.parent / "elsewhere")
    digests = {load_program("src/hot.c", ["-Iinclude", *debug]).digest}
    monkeypatch.chdir("src")
    digests.add(load_program("hot.c", ["-I", "../include", *debug]).digest)
    digests.add(load_program("../src/hot.c", ["-isystem", "../include", *debug]).digest)
    monkeypatch.chdir(folder.parent)
    elsewhere = folder.parent / "elsewhere"
    digests.add(load_program(elsewhere / "src/hot.c", ["-Ielsewhere/include/", *debug]).digest)
    assert len(digests) == 1
    assert load_program(DATA / "matrix.c").digest not in digests


def test_paths_mean_what_they_do_for_clang() -> None:
    text = _native.Module(load_program("src/hot.c", ["-Iinclude"]).content, "x").print()
    assert "the source's own" in text and "of the current folder" not in text
    assert 'c"hot.chot.c\\00"' in text and "here/" not in text


def test_a_folder_for_debug_information_can_be_said() -> None:
    found = load_program("src/hot.c", ["-Iinclude", "-g", "-fdebug-compilation-dir=/mine"])
    assert 'filename: "hot.c", directory: "/mine"' in _native.Module(found.content, "x").print()


def test_what_clang_says_names_the_file_as_it_was_given() -> None:
    Path("src/wrong.c").write_text('#include "own.h"\nint f( {\n')
    with pytest.raises(CompileError, match=r"src/wrong\.c:2:8: error: expected parameter"):
        load_program("src/wrong.c")
    Path("wrong.c").write_text("int f( {\n")
    with pytest.raises(CompileError, match=r"\nwrong\.c:1:8: error: "):
        load_program("wrong.c")


@pytest.mark.parametrize("name", ["-dash.c", "./-dash.c", "a b'\"$x.c", "é.c"])
def test_names_that_a_shell_would_stumble_over(name: str) -> None:
    shutil.copy(DATA / "matrix.c", name)
    assert _native.Module(load_program(name).content, "x").has_function("transpose")


def test_states_do_not_say_where_text_is() -> None:
    text = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n"
    Path("one.ll").write_text(text)
    Path("src/two.ll").write_text(text)
    states = set()
    for name in ("one.ll", "src/two.ll"):
        session = Sandbox(TASK.open, load_program(name))
        states.add(session.digest())
        session.shutdown()
    assert len(states) == 1


def test_linked_programs_do_not_say_where_their_parts_are(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("src/more.c").write_text("int more(void) { return 1; }\n")
    Path("src/some.c").write_text("int more(void); int main(void) { return more(); }\n")
    digests = {link_programs([load_program(f"src/{name}.c") for name in ("more", "some")]).digest}
    monkeypatch.chdir("src")
    digests.add(link_programs([load_program(f"{name}.c") for name in ("more", "some")]).digest)
    assert len(digests) == 1
