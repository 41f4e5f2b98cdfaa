"""Imports between a corpus' programs, against those of lld's ThinLTO."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.llvm.corpora.mlgo import MlgoModule, write_mlgo
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.corpora.user_package import UserPackage, build_user_package
from burnish.llvm.programs import import_programs
from burnish.llvm.toolchain import find_tool
from burnish.workers.executor import Processes

SOURCES = {
    "main.c": """
#include <stdio.h>
int helper(int x); int count(void); int many(int);
static int twice(int x) { return 2 * x; }
int main(int words, char **text) {
  printf("%d %d %d\\n", helper(words) + helper(words + 1), count(), twice(many(words)));
  return 0;
}
""",
    "helper.c": """
static int calls;
static int hidden(int x) { calls++; return x * 3; }
__attribute__((weak)) int both(void) { return 1; }
int helper(int x) { return hidden(x) + 1 + 0 * both(); }
int count(void) { return calls; }
int unused(void) { return 7; }
""",
    "many.c": """
int both(void) { return 2; }
static int more(int x) { return x + 40; }
int many(int x) { return x ? more(x) : both(); }
""",
}


def clang(folder: Path, command: str) -> str:
    tool, *words = shlex.split(command)
    done = subprocess.run(
        [str(find_tool(tool)), *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def definitions(bitcode: bytes) -> dict[str, str]:
    """Return the heads of a module's functions with a body: linkage and name."""
    text = _native.Module(bitcode).print()
    lines = [line for line in text.splitlines() if line.startswith("define")]
    return {line.partition("@")[2].partition("(")[0]: line.partition("@")[0] for line in lines}


def test_the_imports_are_those_of_lld(folder: Path) -> None:
    """The modules after the import are equal: what is imported, promoted and internalized."""
    clang(folder, f"clang -O2 -flto=thin -c {' '.join(SOURCES)}")
    lld = f"-fuse-ld=lld --ld-path={find_tool('ld.lld')} -Wl,--save-temps=import"
    clang(folder, f"clang -O2 -flto=thin {lld} main.o helper.o many.o -o program")
    objects = [Path(name).with_suffix(".o") for name in SOURCES]
    programs = [Program(str(path), "llvm", (folder / path).read_bytes()) for path in objects]
    found = import_programs(programs)
    assert [one.name for one in found] == [str(path) for path in objects]
    for path, one in zip(objects, found, strict=True):
        theirs = (folder / f"{path}.3.import.bc").read_bytes()
        assert definitions(one.content) == definitions(theirs)
        ours = _native.Module(one.content)
        assert ours.structural_hash() == _native.Module(theirs).structural_hash()
    imported = [
        name for name, head in definitions(found[0].content).items() if "available_externally" in head
    ]
    assert "helper" in imported and "many" in imported


def test_a_corpus_of_sources_imports_and_still_runs(folder: Path) -> None:
    """From sources to a program: static names that another module uses are the same in both."""
    build_user_package(
        folder / "corpus", UserPackage(str(folder), name="mine"), link="thinlto", do=Processes(1)
    )
    corpus = open_corpus(folder / "corpus")
    assert [row.path for row in corpus.rows] == ["helper.c", "main.c", "many.c"]
    assert "available_externally" in definitions(corpus.find("mine/main.c").content)["helper"]
    objects = []
    for row in corpus.programs:
        path = folder / f"{row.path}.bc"
        path.write_bytes(corpus.open(row).content)
        clang(folder, f"clang -w -O2 -c -x ir {path} -o {path}.o")
        objects.append(f"{path}.o")
    clang(folder, f"clang {' '.join(objects)} -o imported")
    clang(folder, f"clang {' '.join(SOURCES)} -o plain")
    printed = [
        subprocess.run([folder / name], check=True, capture_output=True).stdout
        for name in ("imported", "plain")
    ]
    assert printed[0] == printed[1] != b""


def test_a_corpus_of_mlgo_from_before_the_import_gets_its_imports(folder: Path) -> None:
    """With an index beside each module, as a distributed build has them before the import."""
    clang(folder, f"clang -O2 -flto=thin -c {' '.join(SOURCES)}")
    clang(folder, "ld.lld -plugin-opt=thinlto-index-only -e main main.o helper.o many.o -o program")
    names = [Path(name).stem for name in SOURCES]
    modules = [
        MlgoModule(
            name, (folder / f"{name}.o").read_bytes(), index=(folder / f"{name}.o.thinlto.bc").read_bytes()
        )
        for name in names
    ]
    write_mlgo(folder / "mlgo", modules)
    own = UserPackage(str(folder / "mlgo"))
    build_user_package(folder / "corpus", own, link="thinlto", do=Processes(1))
    main = open_corpus(folder / "corpus").find("mlgo/main")
    assert "available_externally" in definitions(main.content)["helper"]


def test_what_nobody_uses_is_dropped_only_beside_a_main_function(folder: Path) -> None:
    clang(folder, f"clang -Oz -Xclang -disable-llvm-passes -emit-llvm -c {' '.join(SOURCES)}")
    programs = [Program(name, "llvm", (folder / name).with_suffix(".bc").read_bytes()) for name in SOURCES]
    whole, library = import_programs(programs), import_programs(programs[1:])
    assert [*definitions(whole[1].content)][::2] == ["helper", "count"]  # and `hidden`, with a longer name
    assert [*definitions(library[0].content)] == ["helper", "hidden", "count", "unused"]


def test_the_same_programs_give_the_same_bytes(folder: Path) -> None:
    clang(folder, f"clang -Oz -Xclang -disable-llvm-passes -emit-llvm -c {' '.join(SOURCES)}")
    programs = [Program(name, "llvm", (folder / name).with_suffix(".bc").read_bytes()) for name in SOURCES]
    assert [one.content for one in import_programs(programs)] == [
        one.content for one in import_programs(programs)
    ]


def test_two_definitions_of_one_symbol_are_refused(folder: Path) -> None:
    clang(folder, "clang -emit-llvm -c helper.c")
    twice = Program("a", "llvm", (folder / "helper.bc").read_bytes())
    with pytest.raises(InputError, match=r"two modules define '(helper|count|unused)'"):
        import_programs([twice, twice])
    with pytest.raises(InputError, match="Invalid bitcode"):
        import_programs([Program("bad", "llvm", b"BC\xc0\xdebad")])
