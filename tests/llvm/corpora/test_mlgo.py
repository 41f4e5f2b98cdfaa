"""Corpora of MLGO: what ml-compiler-opt makes of such folders, and mlgo-utils write."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import InputError
from burnish.llvm.corpora.flags import FlagChanges, cc1_options
from burnish.llvm.corpora.mlgo import (
    DESCRIPTION,
    MlgoModule,
    combine_mlgo,
    read_mlgo,
    write_mlgo,
)
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.corpora.user_package import UserPackage, build_user_package
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_passes import TASK
from burnish.workers.executor import Processes
from tests.sources import program

OPTIONS = ("-cc1", "-triple", "x86_64-unknown-linux-gnu", "-fprofile-use=a.prof", "-Oz", "-emit-obj")


def described(folder: Path, table: dict[str, Any], *, options: str = "") -> Path:
    """Write a folder by hand, as mlgo-utils have it: a description, .bc, .cmd, the index of ThinLTO."""
    for module in table.get("modules", ()):
        path = folder / module
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(f"{path.name}.bc").write_bytes(b"BC" + module.encode())
        path.with_name(f"{path.name}.cmd").write_text(options)
        path.with_name(f"{path.name}.thinlto.bc").write_bytes(b"index")
    folder.mkdir(exist_ok=True)
    (folder / DESCRIPTION).write_text(json.dumps(table))
    return folder


@pytest.mark.parametrize("end", ["", "\0"], ids=["of mlgo-utils", "that clang embeds"])
def test_a_command_is_the_options_and_the_module(tmp_path: Path, end: str) -> None:
    table = {"has_thinlto": False, "modules": ["lib/a.o"]}
    corpus = read_mlgo(described(tmp_path, table, options="\0".join(OPTIONS) + end))
    assert corpus.modules == ("lib/a.o",)
    assert corpus.options("lib/a.o") == OPTIONS
    assert corpus.command("lib/a.o") == (*OPTIONS, "-x", "ir", f"{tmp_path}/lib/a.o.bc")


def test_a_thinlto_module_comes_with_its_index(tmp_path: Path) -> None:
    table = {"has_thinlto": True, "modules": ["a.o"]}
    corpus = read_mlgo(described(tmp_path, table, options="-cc1"))
    assert corpus.command("a.o", FlagChanges(added=("-Oz",))) == (
        *("-cc1", "-x", "ir", f"{tmp_path}/a.o.bc"),
        *(f"-fthinlto-index={tmp_path}/a.o.thinlto.bc", "-mllvm", "-thinlto-assume-merged", "-Oz"),
    )
    (tmp_path / "a.o.thinlto.bc").unlink()
    with pytest.raises(InputError, match=r"a.o.thinlto.bc is missing"):
        read_mlgo(tmp_path)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (FlagChanges(deleted=("-triple",)), ("-cc1", "-fprofile-use=a.prof", "-Oz", "-emit-obj")),
        (FlagChanges(deleted=("-fprofile-use",)), (*OPTIONS[:3], "-Oz", "-emit-obj")),
        (
            FlagChanges(replaced={"-fprofile-use": "b.prof"}),
            (*OPTIONS[:3], "-fprofile-use=b.prof", "-Oz", "-emit-obj"),
        ),
        (FlagChanges(replaced={"-triple": "arm"}), ("-cc1", "-triple", "arm", *OPTIONS[3:])),
    ],
)
def test_options_are_deleted_and_replaced_by_how_they_begin(
    tmp_path: Path, changes: FlagChanges, expected: tuple[str, ...]
) -> None:
    folder = described(tmp_path, {"has_thinlto": False, "modules": ["a"]}, options="\0".join(OPTIONS))
    assert read_mlgo(folder).command("a", changes)[:-3] == expected


def test_an_override_takes_the_place_of_all_options(tmp_path: Path) -> None:
    table = {"global_command_override": ["-cc1", "-O2"], "has_thinlto": False, "modules": ["a"]}
    assert read_mlgo(described(tmp_path, table)).options("a") == ("-cc1", "-O2")
    described(tmp_path, table | {"global_command_override": ["<UNSPECIFIED>"]})
    with pytest.raises(InputError, match="write the -cc1 options"):
        read_mlgo(tmp_path).options("a")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"modules": ["a"]}, '"has_thinlto"'),
        ({"modules": "a", "has_thinlto": False}, "a list of names"),
        ({"modules": [], "has_thinlto": False}, "no modules"),
        ({"modules": ["a"], "has_thinlto": False, "global_command_override": "-O2"}, "a list of options"),
    ],
)
def test_a_description_that_is_none_is_refused(tmp_path: Path, table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_mlgo(described(tmp_path / "corpus", table))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    modules = [MlgoModule("a.o", b"BC 1", OPTIONS, b"one"), MlgoModule("b/c.o", b"BC 2", ("-cc1",), b"two")]
    corpus = write_mlgo(tmp_path, modules, more={"corpus_name": "mine"})
    assert corpus == read_mlgo(tmp_path / DESCRIPTION)
    assert (corpus.has_thinlto, corpus.more) == (True, {"corpus_name": "mine"})
    assert [corpus.options(name) for name in corpus.modules] == [OPTIONS, ("-cc1",)]
    assert (tmp_path / "b/c.o.thinlto.bc").read_bytes() == b"two"


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([], "no module"),
        ([MlgoModule("../a", b"")], "inside the corpus"),
        ([MlgoModule("a", b""), MlgoModule("a", b"")], "twice"),
        (
            [MlgoModule("a", b"", (), b"index"), MlgoModule("b", b"")],
            "for all modules of a corpus, or for no module",
        ),
    ],
)
def test_what_would_be_no_corpus_is_not_written(
    tmp_path: Path, modules: list[MlgoModule], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write_mlgo(tmp_path, modules)
    assert not (tmp_path / DESCRIPTION).exists()


def test_corpora_are_combined(tmp_path: Path) -> None:
    for name in ("one", "two"):
        described(tmp_path / name, {"has_thinlto": False, "modules": ["a"]}, options=f"-cc1\0-{name}")
    corpus = combine_mlgo(tmp_path)
    assert corpus.modules == ("one/a", "two/a")
    assert corpus.options("two/a") == ("-cc1", "-two")
    described(tmp_path / "zwei", {"has_thinlto": True, "modules": ["a"]})
    with pytest.raises(InputError, match="differ"):
        combine_mlgo(tmp_path)


def test_options_of_the_driver_are_those_of_no_single_file() -> None:
    options = cc1_options(("-Oz", "-fno-plt"))
    assert options[0] == "-cc1"
    assert "-Oz" in options
    assert not [
        word
        for word in options
        if word == "-" or "module" in word or word.startswith("-fdebug-compilation-dir")
    ]
    with pytest.raises(InputError, match="clang rejects"):
        cc1_options(("-fno-such-option",))


def test_clang_compiles_what_was_exported_as_it_compiles_the_file(tmp_path: Path) -> None:
    """The whole way of a module: into a corpus of MLGO, into one of burnish, and through clang."""
    hot = program("hash_table.c")
    corpus = write_mlgo(tmp_path / "mlgo", [MlgoModule("a/hot.o", hot.content, cc1_options())])
    build_user_package(tmp_path / "mine", UserPackage(str(corpus.folder / DESCRIPTION)), do=Processes(1))
    (read,) = open_corpus(tmp_path / "mine")
    assert read.name == "mlgo/a/hot.o"
    command = [str(find_tool("clang")), *corpus.command("a/hot.o"), "-o", str(tmp_path / "hot.o")]
    subprocess.run(command, check=True)
    ours = TASK.baseline("Oz")(read)
    assert (tmp_path / "hot.o").read_bytes() == ours.object_code()
