"""Modules in a build's objects: stock clang, make, ar and lld make the objects."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import InputError
from burnish.llvm.corpora.flags import FlagChanges
from burnish.llvm.corpora.mlgo import MlgoModule, read_mlgo, write_mlgo
from burnish.llvm.corpora.objects import ObjectFile, base_of, find_objects, read_object
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.corpora.user_package import UserPackage, build_user_package
from burnish.llvm.toolchain import find_tool
from burnish.workers.executor import Processes

SOURCES = {
    "main.c": "int helper(int);\nint main(int count, char **words) { return helper(count) + helper(7); }\n",
    "lib/helper.c": "int helper(int x) { return x * 3 + FACTOR; }\n",
    "lib/other.c": "int other(int x) { return x + 1; }\n",
}
EMBED = "-Xclang -fembed-bitcode=all"
MAKEFILE = """
all: main.o lib/libhelper.a
CFLAGS = -O2 -Ilib -DFACTOR=5 -MD -g0
lib/libhelper.a: lib/helper.o lib/other.o
\t$(AR) rcs $@ $^
"""
Run = Callable[[str], None]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sources by make, with embedded bitcode."""
    folder = tmp_path_factory.mktemp("project")
    write(folder)
    (folder / "Makefile").write_text(MAKEFILE)
    tools = [f"CC={find_tool('clang')} {EMBED}", f"AR={find_tool('llvm-ar')}"]
    subprocess.run(["make", "--silent", *tools], cwd=folder, check=True)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command in a folder with the sources; `clang` and the like are ours."""
    write(tmp_path)

    def run(command: str) -> None:
        tool, *words = shlex.split(command)
        subprocess.run([str(find_tool(tool)), *words], cwd=tmp_path, check=True)

    return run


def write(folder: Path) -> None:
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def module(one: ObjectFile, root: Path, command: str = "") -> MlgoModule:
    found = read_object(one, root, command)
    assert isinstance(found, MlgoModule)
    return found


def names(source: Path, base: Path | None = None) -> list[str]:
    return [one.name for one in find_objects(source, base)]


def text_of(content: bytes) -> bytes:
    return next(one.content for one in _native.elf_sections(content) if one.name == ".text")


def test_the_objects_of_a_folder_and_of_its_archives(built: Path) -> None:
    assert names(built) == [
        *("lib/helper.o", "lib/libhelper.a/helper.o", "lib/libhelper.a/other.o", "lib/other.o", "main.o")
    ]
    for one in find_objects(built):
        found = _native.Module(module(one, built).bitcode)
        assert {"helper.o": ["helper"], "other.o": ["other"], "main.o": ["main"]}[
            Path(one.name).name
        ] == found.functions
        assert "alloca" in found.print()  # no pass has run


def test_options_come_along_without_those_of_the_build(built: Path) -> None:
    (helper,) = (one for one in find_objects(built) if one.name == "lib/helper.o")
    options = module(helper, built).options
    assert options[0] == "-cc1" and "-O2" in options
    for build_only in (
        "-Ilib",
        "-D",
        "FACTOR=5",
        "-main-file-name",
        "helper.c",
        "-dependency-file",
        "lib/helper.d",
    ):
        assert build_only not in options
    assert not [word for word in options if str(built) in word or "fembed-bitcode" in word]


def test_clang_makes_the_same_code_of_an_extracted_module(built: Path, tmp_path: Path) -> None:
    """The bitcode and the options together are the compile of the build."""
    (helper,) = (one for one in find_objects(built) if one.name == "lib/helper.o")
    corpus = write_mlgo(tmp_path, [module(helper, built)])
    command = [str(find_tool("clang")), *corpus.command("lib/helper.o"), "-o", str(tmp_path / "again.o")]
    subprocess.run(command, check=True)
    assert text_of((tmp_path / "again.o").read_bytes()) == text_of((built / "lib/helper.o").read_bytes())


def test_the_inputs_of_a_parameter_file(built: Path, tmp_path: Path) -> None:
    (tmp_path / "more.params").write_text('--start-lib\n"lib/helper.o"\n--end-lib\n')
    (tmp_path / "link.params").write_text(
        f"-o\nout/program.o\n-Lout.o\nmain.o\n-lc\n@{tmp_path}/more.params\nmain.o\nlib/libhelper.a\n"
    )
    listed = names(tmp_path / "link.params", built)
    assert listed == ["main.o", "lib/helper.o", "lib/libhelper.a/helper.o", "lib/libhelper.a/other.o"]


def test_the_objects_of_a_compilation_database(built: Path, tmp_path: Path) -> None:
    entries = [
        {"directory": str(built), "file": "main.c", "command": "clang -c main.c -o main.o"},
        {"directory": str(built / "lib"), "file": "other.c", "arguments": ["clang"], "output": "other.o"},
        {"directory": str(built), "file": "x.c", "command": "clang -fsyntax-only x.c"},
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    assert names(tmp_path / "compile_commands.json", built) == ["main.o", "lib/other.o"]


def aquery(*arguments: str, mnemonic: str = "CppLink", **more: object) -> dict[str, object]:
    """Return an action as `bazel aquery --output=jsonproto --include_param_files` prints it."""
    return {
        "targetId": 1,
        "actionKey": "6ad0b3e6",
        "mnemonic": mnemonic,
        "configurationId": 1,
        "arguments": list(arguments),
        "environmentVariables": [{"key": "PATH", "value": "/bin:/usr/bin"}],
        "inputDepSetIds": [1],
        "outputIds": [1],
        "primaryOutputId": 1,
        "executionPlatform": "@@platforms//host:host",
        **more,
    }


def test_the_links_of_a_bazel_aquery(built: Path, tmp_path: Path) -> None:
    table = {
        "artifacts": [{"id": 1, "pathFragmentId": 1}],
        "actions": [
            aquery("/usr/bin/clang", "-c", "x.c", "-o", "x.o", mnemonic="CppCompile"),
            aquery("/usr/bin/clang", "-o", "bazel-out/k8-opt/bin/one", "main.o", "-Wl,-S", "lib/helper.o"),
            aquery(
                *("/usr/bin/clang", "@bazel-out/k8-opt/bin/two-2.params"),
                paramFiles=[
                    {
                        "execPath": "bazel-out/k8-opt/bin/two-2.params",
                        "arguments": ["-o", "bazel-out/k8-opt/bin/two", "main.o", "lib/other.o"],
                    }
                ],
            ),
        ],
        "targets": [{"id": 1, "label": "//:one", "ruleClassId": 1}],
        "pathFragments": [{"id": 1, "label": "one"}],
    }
    (tmp_path / "aquery.json").write_text(json.dumps(table))
    assert names(tmp_path / "aquery.json", built) == ["main.o", "lib/helper.o", "lib/other.o"]


@pytest.mark.parametrize("text", ["{}", "3", "[1]", '{"actions": [{}]}', "no JSON"])
def test_other_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x.json: neither a compilation database nor of bazel aquery"):
        find_objects(tmp_path / "x.json")


def test_a_source_without_objects_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no object there; expected a folder"):
        find_objects(tmp_path)
    with pytest.raises(InputError, match=r"none.params.*parameter file"):
        find_objects(tmp_path / "none.params")


def test_objects_are_chosen_by_their_options(built: Path) -> None:
    (main,) = find_objects(built / "main.o")
    assert module(main, built, "-O2").name == "main.o"
    assert read_object(main, built, "O2") == "no option of its command matches O2"  # from the beginning


def test_a_thin_archive_names_its_objects(built: Path, tmp_path: Path) -> None:
    archive = tmp_path / "thin.a"
    command = [
        str(find_tool("llvm-ar")),
        "rcsT",
        str(archive),
        str(built / "lib/helper.o"),
        str(built / "main.o"),
    ]
    subprocess.run(command, check=True)
    found = find_objects(archive, built)
    assert [one.name for one in found] == ["lib/helper.o", "main.o"]
    (tmp_path / "both.params").write_text(f"{archive}\n{built}/main.o\n")
    assert find_objects(tmp_path / "both.params", built) == found
    assert _native.Module(module(found[1], built).bitcode).functions == ["main"]


def test_members_of_one_name_are_told_apart(run: Run, tmp_path: Path) -> None:
    run(f"clang {EMBED} -c lib/other.c -o other.o")
    run("llvm-ar qcs lib.a other.o")
    run(f"clang {EMBED} -c main.c -o other.o")
    run("llvm-ar qcs lib.a other.o")
    found = find_objects(tmp_path / "lib.a")
    assert [one.name for one in found] == ["lib.a/other.o", "lib.a/other.o@2"]
    assert [_native.Module(module(one, tmp_path).bitcode).functions for one in found] == [["other"], ["main"]]


def test_objects_without_a_module_say_why(run: Run, tmp_path: Path) -> None:
    run("gcc -c main.c -o gcc.o")
    run("clang -O2 -fembed-bitcode=all -c main.c -o driver.o")
    run(f"clang {EMBED} -c main.c -o one.o")
    run(f"clang {EMBED} -Xclang -disable-llvm-passes -c main.c -o none.o")
    assert isinstance(read_object(ObjectFile("none.o", tmp_path / "none.o"), tmp_path), MlgoModule)
    run(f"clang {EMBED} -c lib/other.c -o two.o")
    run("ld.lld -r one.o two.o -o both.o")
    (tmp_path / "text.o").write_text("no object")
    found = {one.name: one for one in find_objects(tmp_path)}
    assert "no bitcode in it; compile it with -Xclang" in str(read_object(found["gcc.o"], tmp_path))
    assert "optimized before it was embedded" in str(read_object(found["driver.o"], tmp_path))
    with pytest.raises(InputError, match=r"both.o: it was linked from 2 objects"):
        read_object(found["both.o"], tmp_path)
    with pytest.raises(InputError, match=r"text.o: not a little-endian ELF file"):
        read_object(found["text.o"], tmp_path)
    with pytest.raises(InputError, match=r"gone.o: No such file"):
        read_object(ObjectFile("gone.o", tmp_path / "gone.o"), tmp_path)


@pytest.mark.parametrize("options", ["-flto", "-flto=thin", "-flto=thin -ffat-lto-objects", "-emit-llvm"])
def test_objects_for_a_link_time_optimization(run: Run, tmp_path: Path, options: str) -> None:
    run(f"clang -Oz {options} -c main.c -o main.o")
    (main,) = find_objects(tmp_path)
    assert _native.Module(module(main, tmp_path).bitcode).functions == ["main"]


def test_a_distributed_thinlto_build_comes_with_its_index(run: Run, tmp_path: Path) -> None:
    """As Bazel and Chromium link: an index for each object, by which clang compiles it."""
    run("clang -Oz -flto=thin -c main.c -o main.bc")
    run("clang -Oz -flto=thin -DFACTOR=5 -c lib/helper.c -o helper.bc")
    run("ld.lld -plugin-opt=thinlto-index-only -e main main.bc helper.bc -o program")
    for name in ("main", "helper"):
        index = f"-fthinlto-index={name}.bc.thinlto.bc"
        run(f"clang -Oz -mllvm -lto-embed-bitcode=post-merge-pre-opt -c -x ir {name}.bc {index} -o {name}.o")
    found = [module(one, tmp_path) for one in find_objects(tmp_path)]
    assert [one.name for one in found] == ["helper.o", "main.o"]
    assert [one.index for one in found] == [
        (tmp_path / f"{name}.bc.thinlto.bc").read_bytes() for name in ("helper", "main")
    ]
    assert not [word for one in found for word in one.options if "index" in word or "embed" in word]
    assert "-mllvm" not in found[0].options
    corpus = write_mlgo(tmp_path / "mlgo", found)
    command = [str(find_tool("clang")), *corpus.command("main.o"), "-o", str(tmp_path / "again.o")]
    subprocess.run(command, check=True)
    assert text_of((tmp_path / "again.o").read_bytes()) == text_of((tmp_path / "main.o").read_bytes())


def test_a_local_thinlto_build_has_its_modules_after_the_import(run: Run, tmp_path: Path) -> None:
    run("clang -Oz -flto=thin -c main.c -o main.o")
    run("clang -Oz -flto=thin -DFACTOR=5 -c lib/helper.c -o helper.o")
    run("ld.lld --save-temps=import --thinlto-emit-index-files -e main main.o helper.o -o program")
    helper, main = (module(one, tmp_path) for one in find_objects(tmp_path))
    assert (main.name, main.index) == ("main.o", (tmp_path / "main.o.thinlto.bc").read_bytes())
    assert "define available_externally" in _native.Module(main.bitcode).print()
    assert helper.name == "helper.o"


def test_a_corpus_keeps_the_options_of_objects(built: Path, tmp_path: Path) -> None:
    """From objects to burnish's own corpus, with changed flags."""
    flags = FlagChanges(added=("-Os",), deleted=("-tune-cpu",), replaced={"-target-cpu": "haswell"})
    own = UserPackage(str(built), name="mine", objects=True, command="-O2", flags=flags)
    build_user_package(tmp_path / "mine", own, do=Processes(1))
    corpus = open_corpus(tmp_path / "mine")
    assert len(corpus) == 5
    options = next(row.options for row in corpus.programs if row.path == "main.o")
    assert options[-1] == "-Os" and "-tune-cpu" not in options
    assert options[options.index("-target-cpu") + 1] == "haswell"
    assert hash(corpus.programs[0])  # a frozen row, with a tuple


def test_a_stopped_write_leaves_the_old_corpus(tmp_path: Path) -> None:
    write_mlgo(tmp_path, [MlgoModule("a.o", b"BC old", ("-cc1",))])

    def stopped() -> Iterator[MlgoModule]:
        yield MlgoModule("a.o", b"BC new", ("-cc1", "-O2"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_mlgo(tmp_path, stopped())
    corpus = read_mlgo(tmp_path)
    assert corpus.path("a.o").read_bytes() == b"BC old"
    assert corpus.options("a.o") == ("-cc1",)
    assert {path.name for path in tmp_path.iterdir()} == {"corpus_description.json", "a.o.bc", "a.o.cmd"}


def test_the_base_is_the_source_or_its_folder(tmp_path: Path) -> None:
    assert base_of(tmp_path) == tmp_path
    assert base_of(tmp_path / "x.params") == tmp_path
    assert base_of(tmp_path / "x.params", tmp_path / "a") == tmp_path / "a"
