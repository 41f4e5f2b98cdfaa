"""Real programs with drivers: how they are listed, compiled once, and run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.llvm.corpora import Package, find_package, workloads
from burnish.llvm.corpora.workloads import FOLDER, find_recipe, load_workload, workload_names
from burnish.llvm.run import RunLimits, differences, link, run_all
from tests.sources import workload_of

NAMES = workload_names()
LIMITS = RunLimits(timeout_seconds=120)


def build(program: Program, level: str, to: Path) -> Path:
    """Build a program as clang's own pipeline of a level makes it."""
    module = _native.Module(program.content, program.name)
    module.honour_mandatory()
    if level != "O0":
        module.set_level_attributes(level)
        module.run(f"clang<{level}>", level)
    return link(module.emit_object(level), workload_of(program), to)


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where fetched packages and compiled modules are kept."""
    return tmp_path_factory.mktemp("packages")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """A workload whose package is two files and whose driver is one, neither fetched nor installed."""
    root, drivers = tmp_path / "tiny-1.0", tmp_path / "drivers"
    (root / "lib").mkdir(parents=True)
    (drivers / "lz4").mkdir(parents=True)
    (root / "lib/add.h").write_text("int add(int a, int b);\n")
    (root / "lib/add.c").write_text('#include "add.h"\nint add(int a, int b) { return a + b; }\n')
    (root / "lib/main.c").write_text("#error this file is omitted\n")
    (drivers / "lz4/driver.c").write_text(
        '#include "add.h"\n#include "shared.h"\n#include <stdio.h>\n'
        'int main(int argc, char **argv) { printf("%d\\n", add(argc, SHARED)); return argv == 0; }\n'
    )
    (drivers / "shared.h").write_text("#define SHARED 40\n")
    (drivers / "workloads.toml").write_text(
        '[lz4]\ndescription = "x"\nsources = ["lib/*.c"]\nomit = ["lib/main.c"]\ninclude = ["lib"]\n'
        'runs = { small = "a", large = "a b c" }\n'
    )
    (drivers / "expected.toml").write_text('[lz4]\nsmall = "42\\n"\nlarge = "44\\n"\n')
    fetched: list[str] = []

    def fetch(package: Package, *_: object) -> Path:
        fetched.append(package.name)
        return root

    monkeypatch.setattr(workloads, "FOLDER", drivers)
    monkeypatch.setattr(workloads, "fetch", fetch)
    workloads.workloads.cache_clear()
    yield fetched
    workloads.workloads.cache_clear()


def test_every_workload_is_a_pinned_package_with_a_driver() -> None:
    assert len(NAMES) >= 8
    for name in NAMES:
        recipe = find_recipe(name)
        assert find_package(name).name == name
        assert (FOLDER / name / "driver.c").is_file()
        assert all((FOLDER / name / file).is_file() for file in recipe.files)
        assert len(recipe.description) > 20
        assert [run.name for run in recipe.runs] == ["small", "medium", "large"]
        assert all(run.expected for run in recipe.runs), f"{name}: no expected output"
    assert {path.parent.name for path in FOLDER.glob("*/driver.c")} == set(NAMES)


def test_a_workload_is_the_package_and_its_driver_in_one_module(tiny: list[str], tmp_path: Path) -> None:
    program = load_workload("lz4", tmp_path / "kept", None)
    assert program.name == "workloads:lz4"
    assert _native.Module(program.content, "x").functions == ["add", "main"]
    executable = build(program, "Oz", tmp_path / "program")
    assert not differences(workload_of(program), run_all(executable, workload_of(program)))
    assert str(tmp_path).encode() not in program.content


def test_a_workload_is_compiled_once_until_something_changes(tiny: list[str], tmp_path: Path) -> None:
    first = load_workload("lz4", tmp_path / "kept", ["small"])
    assert load_workload("lz4@large", tmp_path / "kept") == first
    assert len(tiny) == 1
    driver = workloads.FOLDER / "lz4/driver.c"
    driver.write_text(driver.read_text().replace("%d", "%i"))
    assert load_workload("lz4", tmp_path / "kept", None) != first
    assert len(tiny) == 2


def test_sources_that_are_not_there_are_named(tiny: list[str], tmp_path: Path) -> None:
    workloads.workloads.cache_clear()
    recipe = workloads.FOLDER / "workloads.toml"
    recipe.write_text(recipe.read_text().replace("lib/*.c", "src/*.c"))
    with pytest.raises(InputError, match=r"src/\*\.c: no such file"):
        load_workload("lz4", tmp_path / "kept", None)


def test_unknown_names_are_explained() -> None:
    with pytest.raises(UnknownName, match="no workload named 'lz5'; did you mean 'lz4'"):
        load_workload("lz5")
    with pytest.raises(UnknownName, match="no size of 'lz4' named 'huge'"):
        load_workload("lz4@huge")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", ["O0", "Oz", "O3"])
def test_workloads_print_what_is_expected(name: str, level: str, tmp_path: Path, packages: Path) -> None:
    program = load_workload(name, packages, None)
    executable = build(program, level, tmp_path / "program")
    assert not differences(workload_of(program), run_all(executable, workload_of(program), limits=LIMITS))


@pytest.mark.slow
def test_a_program_that_computes_something_else_is_caught(
    tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a smaller hash table: LZ4 still round-trips, but compresses differently
    monkeypatch.setattr(workloads, "FLAGS", (*workloads.FLAGS, "-DLZ4_MEMORY_USAGE=12"))
    program = load_workload("lz4", packages)
    executable = build(program, "Oz", tmp_path / "program")
    assert differences(workload_of(program), run_all(executable, workload_of(program), limits=LIMITS))
