import json
from pathlib import Path

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.llvm.corpora import references
from burnish.llvm.corpora.manifest import split_version
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.corpora.references import ModuleSource, is_reference, resolve, resolve_one
from burnish.llvm.corpora.splits import write_splits
from burnish.llvm.corpora.user_package import UserPackage, build_user_package
from tests.llvm.corpora.conftest import PADDING, Tree
from tests.sources import DATA

SOURCE = ModuleSource("Oz")


@pytest.fixture
def folder(tree: Tree, tmp_path: Path) -> Path:
    root = tree(
        {
            f"src/{name}.c": f"int {name}(int x) {{ return x + {len(name)}; }}\n{PADDING}"
            for name in ("one", "three")
        }
    )
    build_user_package(tmp_path / "corpus", UserPackage(str(root), "mine", split="val"))
    return tmp_path / "corpus"


def names(text: str) -> list[str]:
    return [program.name for program in resolve(text)]


def test_a_file(tmp_path: Path) -> None:
    (program,) = resolve(str(DATA / "matrix.c"))
    assert program.name.endswith("matrix.c")
    with pytest.raises(InputError, match="no such file"):
        resolve("nowhere.c")


@pytest.mark.parametrize("what", ["", "val", "mine", "mine/src/*.c", "*.c"])
def test_a_corpus_of_one_s_own(folder: Path, what: str) -> None:
    assert names(f"corpus@{folder}:{what}") == ["mine/src/one.c", "mine/src/three.c"]


def test_a_public_split_is_kept_with_its_version(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "default_folder", lambda: tmp_path)
    assert SOURCE.pinned("corpus:train") == f"corpus:train@{split_version('train')}"
    assert SOURCE.pinned("corpus:test") == f"corpus:test@{split_version('test')}"
    for other in ("corpus:test@1", "corpus:lz4", f"corpus@{folder}:val", "kernels:fft", "random:7", "hot.c"):
        assert SOURCE.pinned(other) == other
    write_splits(tmp_path, {"lz4": "train"}, 0)
    assert SOURCE.pinned("corpus:train") == "corpus:train"


def test_one_program_of_a_corpus(folder: Path) -> None:
    assert names(f"corpus@{folder}:mine/src/three.c") == ["mine/src/three.c"]
    assert resolve_one(f"corpus@{folder}:mine/src/one.c").name == "mine/src/one.c"


@pytest.mark.parametrize(
    ("what", "hint"),
    [("vall", "did you mean 'val'"), ("mine/one.c", "did you mean 'mine/src/one.c'"), ("x*", "no program")],
)
def test_what_a_corpus_does_not_have(folder: Path, what: str, hint: str) -> None:
    with pytest.raises(UnknownName, match=hint):
        resolve(f"corpus@{folder}:{what}")


def test_the_public_corpus_is_in_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(references, "default_folder", lambda: folder)
    assert names("corpus:val") == ["mine/src/one.c", "mine/src/three.c"]
    monkeypatch.setattr(references, "default_folder", lambda: tmp_path / "nowhere")
    with pytest.raises(InputError, match="no corpus there; make one with: burnish corpus build"):
        resolve("corpus:val")


def test_random_programs() -> None:
    assert resolve_one("random:5").digest == random_module(5).digest
    assert resolve_one("random:5:300").digest == random_module(5, 300).digest
    many = resolve("random:0..999999:200")
    assert len(many) == 1_000_000
    assert many[7].digest == random_module(7, 200).digest
    assert resolve_one(many[7].name).digest == many[7].digest
    assert [program.name for program in many[3:5]] == ["random:3:200", "random:4:200"]


@pytest.mark.parametrize("text", ["random:x", "random:", "random:5..3"])
def test_seeds_that_make_no_sense(text: str) -> None:
    with pytest.raises(InputError, match="seed"):
        resolve(text)


def test_kernels() -> None:
    assert [program.name for program in resolve("kernels:*")][:1]
    with pytest.raises(UnknownName, match="no kernel named"):
        resolve("kernels:nothing-like-this")


def test_a_misspelt_kind_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'corpus'"):
        resolve("copus:train")


def test_several_programs_where_one_is_needed(folder: Path) -> None:
    with pytest.raises(InputError, match="2 programs, expected one"):
        resolve_one(f"corpus@{folder}:")


def test_a_file_of_such_a_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_reference("random:5")
    (tmp_path / "random:5").write_text("")
    assert not is_reference("random:5")


@pytest.fixture
def project(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a project that has a compilation database."""
    root = tree(
        {
            "lib/scale.c": '#include "scale.h"\nint scale(int x) { return x * FACTOR * BY; }\n',
            "lib/include/scale.h": "#define BY 2\n",
            "lib/.hidden/gone.c": "int gone;\n",
            "app/main.cpp": "int scale(int); int main() { return scale(1); }\n",
            "app/notes.txt": "",
        }
    )
    gcc = ["gcc", "-Iinclude", "-fconserve-stack", "-O3", "-c", "scale.c", "-o", "scale.o"]
    lib = {"directory": str(root / "lib"), "file": "scale.c"}
    entries = [
        {**lib, "arguments": [*gcc, "-DFACTOR=3"]},
        {**lib, "arguments": [*gcc, "-DFACTOR=4"]},
        {"directory": str(root / "app"), "file": "main.cpp", "command": "g++ -c main.cpp"},
    ]
    (root / "build").mkdir()
    (root / "build/compile_commands.json").write_text(json.dumps(entries))
    monkeypatch.chdir(root)
    return root


def test_a_folder_is_its_c_and_cpp_files(project: Path) -> None:
    assert SOURCE.expand(".") == ["app/main.cpp", "lib/scale.c"]
    assert SOURCE.expand("lib") == ["lib/scale.c"] == SOURCE.expand("lib/")
    assert names("app") == ["app/main.cpp"]
    with pytest.raises(InputError, match="build: there is no C or C"):
        SOURCE.expand("build")


def test_a_compilation_database_is_its_files_each_with_its_own_options(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = "build/compile_commands.json"
    expected = [f"{database}:{name}" for name in ("app/main.cpp", "lib/scale.c", "lib/scale.c@2")]
    assert SOURCE.expand(database) == expected == names(database)
    assert all(map(is_reference, expected))
    three, four = map(resolve_one, expected[1:])
    assert three.digest == resolve_one("lib/scale.c", ["-DFACTOR=3", "-Ilib/include"]).digest != four.digest
    monkeypatch.chdir("lib")
    assert resolve_one(f"../{expected[1]}").digest == three.digest
    with pytest.raises(UnknownName, match=r"did you mean 'lib/scale\.c"):
        resolve_one(f"../{database}:lib/scal.c")
