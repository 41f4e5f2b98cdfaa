import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.corpora.user_package import UserPackage, build_user_package
from tests.llvm.corpora.conftest import PADDING, Tree

TWO = "int twice(int x) { return 2 * x; }\nint thrice(int x) { return 3 * x; }\n" + PADDING
MAIN = "int twice(int);\nint main(int argc, char **argv) { return twice(argc); }\n" + PADDING

Build = Callable[..., Corpus]


@pytest.fixture
def corpus(tmp_path: Path) -> Build:
    """Return a function that builds a corpus from a source and opens it."""

    def build(source: str, link: Any = "", **changes: Any) -> Corpus:
        build_user_package(tmp_path / "corpus", UserPackage(str(source), **changes), link=link)
        return open_corpus(tmp_path / "corpus")

    return build


def statuses(corpus: Corpus) -> dict[str, str]:
    return {row.path: row.status for row in corpus.rows}


def functions(program: Program) -> list[str]:
    return _native.Module(program.content).functions


def test_a_folder_of_c_cxx_and_ir(tree: Tree, corpus: Build) -> None:
    root = tree({"a.c": TWO, "lib/b.cc": TWO, "lib/bad.c": "int bad = ;\n" + PADDING})
    (root / "c.ll").write_text("define i32 @f() {\n  ret i32 1\n}\n")
    found = corpus(root)
    assert statuses(found) == {
        "a.c": "compiled",
        "c.ll": "compiled",
        "lib/b.cc": "compiled",
        "lib/bad.c": "failed",
    }
    assert next(row.reason for row in found.rows if row.path == "lib/bad.c") == "expected expression"
    assert {row.language for row in found.programs} == {"c", "c++", "llvm"}
    assert functions(found.find("package/a.c")) == ["twice", "thrice"]


def test_options_for_clang_are_used(tree: Tree, corpus: Build) -> None:
    found = corpus(tree({"a.c": "int f(void) { return ANSWER; }\n" + PADDING}), clang=("-DANSWER=42",))
    assert "ret i32 42" in _native.Module(found[0].content).print()


def test_nothing_is_written_into_the_folder(tree: Tree, corpus: Build) -> None:
    root = tree({"a.c": '#include "config.h"\n' + TWO, "config.h.in": "#undef HAVE_STDIO_H\n"})
    before = sorted(root.rglob("*"))
    assert len(corpus(root)) == 1
    assert sorted(root.rglob("*")) == before


def test_a_compilation_database(tree: Tree, corpus: Build) -> None:
    root = tree(
        {"src/a.c": "#include <x.h>\nint f(void) { return X + Y; }\n" + PADDING, "inc/x.h": "#define X 1\n"}
    )
    words = ["gcc", "-I../inc", "-DY=2", "-fno-such-option-of-gcc", "-c", "../src/a.c", "-o", "a.o"]
    entries = [
        {"directory": str(root / "build"), "file": "../src/a.c", "arguments": words},
        {"directory": str(root / "build"), "file": "../src/gone.c", "command": "gcc -c ../src/gone.c"},
    ]
    (root / "build").mkdir()
    (root / "build/compile_commands.json").write_text(json.dumps(entries))
    found = corpus(root / "build/compile_commands.json", name="mine")
    assert statuses(found) == {"a.c": "compiled", "gone.c": "failed"}
    assert "ret i32 3" in _native.Module(found.find("mine/a.c").content).print()


def test_a_pattern_of_ir(tree: Tree, corpus: Build) -> None:
    root = tree(
        {"build/one/a.ll": "define void @a() {\n  ret void\n}\n", "build/b.ll": "no IR", "build/c.txt": ""}
    )
    found = corpus(f"{root}/build/**/*.ll", name="mine")
    assert statuses(found) == {"b.ll": "failed", "one/a.ll": "compiled"}
    assert "expected top-level entity" in next(row.reason for row in found.rows if row.path == "b.ll")


def test_bitcode_that_kills_llvm_is_recorded(tree: Tree, corpus: Build, tmp_path: Path) -> None:
    """Flipped bits crash LLVM's reader now and then; others have to compile all the same."""
    root = tree({"good.c": TWO})
    good = corpus(root)[0].content
    damaged = bytearray(good)
    for number in range(40):
        damaged[number * 37 % len(damaged)] ^= 1 << number % 8
        (root / f"{number:02}.bc").write_bytes(bytes(damaged))
    found = statuses(corpus(root))
    assert found["good.c"] == "compiled"
    assert list(found.values()).count("failed") >= 38


def test_a_whole_program(tree: Tree, corpus: Build) -> None:
    root = tree({"lib.c": TWO, "main.c": MAIN, "bad.c": "int bad = ;\n" + PADDING})
    found = corpus(root, link="lto")
    assert statuses(found) == {"linked": "compiled", "bad.c": "failed"}
    assert sorted(functions(found.find("package/linked"))) == ["main", "thrice", "twice"]
    assert [path.name for path in found.folder.glob("[!.]*")] == ["package.pack"]


def test_files_that_do_not_link_are_an_error(tree: Tree, corpus: Build) -> None:
    with pytest.raises(InputError, match="twice"):
        corpus(tree({"a.c": TWO, "b.c": TWO}), link="lto")


def test_each_function_is_a_program(tree: Tree, corpus: Build) -> None:
    found = corpus(tree({"a.c": TWO, "b.c": "int x;\n" + PADDING}), functions="")
    assert statuses(found) == {"a.c:twice": "compiled", "a.c:thrice": "compiled", "b.c": "skipped"}
    assert functions(found.find("package/a.c:thrice")) == ["thrice"]


def test_one_function(tree: Tree, corpus: Build) -> None:
    found = corpus(tree({"a.c": TWO, "main.c": MAIN}), functions="twice")
    assert [program.name for program in found] == ["package/a.c:twice"]


def test_a_changed_file_is_compiled_again(tree: Tree, corpus: Build) -> None:
    root = tree({"a.c": TWO})
    before = corpus(root).digest
    assert corpus(root).digest == before
    (root / "a.c").write_text(TWO.replace("3", "4"))
    assert corpus(root).digest != before


@pytest.mark.parametrize("source", ["nowhere", "*.bc", "."])
def test_where_there_is_nothing_it_says_what_could_be(
    source: str, corpus: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="nothing to compile there; expected a folder"):
        corpus(source)


def test_a_pattern_of_sources_is_explained(tree: Tree, corpus: Build) -> None:
    with pytest.raises(InputError, match="a pattern is for"):
        corpus(f"{tree({'a.c': TWO})}/*.c")
