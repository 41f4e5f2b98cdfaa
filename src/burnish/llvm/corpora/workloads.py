"""Real programs that can be run: the sources of a pinned package, linked with a small driver of burnish."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program, Run, Workload
from burnish.files import default_cache, write_atomically
from burnish.llvm.corpora.fetch import Progress, fetch
from burnish.llvm.corpora.kernels import choose_runs, read_suite
from burnish.llvm.corpora.manifest import find_package
from burnish.llvm.programs import link_programs
from burnish.llvm.toolchain import clang_version, compile_to_bitcode

FOLDER = Path(__file__).with_name("drivers")
# -w hides the packages' own warnings. Assertions have file names relative to the package: see _compile.
FLAGS = ("-w", "-fno-ident")
DEFAULT_SIZES = ("small", "medium")


@dataclass(frozen=True)
class Recipe:
    """Build recipe of a workload: a package's files, the compiler options, and the program's inputs."""

    name: str  # also the name of the package and of the driver's folder
    description: str
    runs: tuple[Run, ...]  # one for each size, as for kernels
    sources: tuple[str, ...]  # patterns, relative to the unpacked sdist
    include: tuple[str, ...]  # folders, relative to the unpacked sdist
    omit: tuple[str, ...] = ()  # files that the patterns find but that are not compiled
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()  # arguments of the linker
    files: tuple[str, ...] = ()  # input files, in the driver's folder

    @property
    def folder(self) -> Path:
        """Return the folder of the driver and its input files."""
        return FOLDER / self.name

    def find_sources(self, root: Path) -> list[str]:
        """Return the package's files to compile, relative to the unpacked sdist, sorted by path."""
        found: set[str] = set()
        for pattern in self.sources:
            paths = {path.relative_to(root).as_posix() for path in root.glob(pattern)}
            if not paths:
                raise InputError(f"{root / pattern}: no such file; is this {find_package(self.name)}?")
            found |= paths
        return sorted(found - set(self.omit))

    def include_flags(self, root: Path) -> list[str]:
        """Return clang's -I options: folders of the package, of the driver, and of shared driver files."""
        return [f"-I{path}" for path in (*(root / folder for folder in self.include), self.folder, FOLDER)]


@functools.cache
def workloads() -> tuple[Recipe, ...]:
    """Return the recipes of all workloads, ordered by name."""
    recipes = []
    for name, row, runs in read_suite(FOLDER / "workloads.toml", "runs"):
        lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
        recipes.append(Recipe(name, row["description"], runs, **lists))
    return tuple(recipes)


def workload_names() -> tuple[str, ...]:
    """Return the names of all workloads, sorted."""
    return tuple(recipe.name for recipe in workloads())


def find_recipe(name: str) -> Recipe:
    """Return the recipe of a workload."""
    known = {recipe.name: recipe for recipe in workloads()}
    if name not in known:
        raise UnknownName.among("workload", name, known)
    return known[name]


def load_workload(
    name: str,
    directory: Path | None = None,
    sizes: Sequence[str] | None = DEFAULT_SIZES,
    *,
    level: str = "Oz",
    progress: Progress | None = None,
) -> Program:
    """Return a real program with its workload: the needed files of a package and a driver, in one module.

    The first call fetches and compiles the package; the compiled module is kept. Both are in `directory`, by
    default the user's cache. Sizes in the name replace `sizes`: "lz4@medium". None takes all.

    Raises:
        UnknownName: there is no such workload, or the workload has no such size.
        InputError: the package cannot be fetched.
        CompileError: clang rejects a file.
    """
    name, at, chosen = name.partition("@")
    recipe = find_recipe(name)
    runs = choose_runs(name, recipe.runs, chosen.split(",") if at else sizes)
    directory = default_cache() if directory is None else directory
    kept = directory / "workloads" / f"{name}-{_key(recipe, level)}.bc"
    if kept.is_file():
        content = kept.read_bytes()
    else:
        content = _compile(recipe, fetch(find_package(name), directory, progress).resolve(), level)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, content)
    files = tuple((file, (recipe.folder / file).read_bytes()) for file in recipe.files)
    workload = Workload(runs, link_arguments=recipe.libraries, files=files)
    return Program(f"workloads:{name}", "llvm", content, workload)


def _compile(recipe: Recipe, root: Path, level: str) -> bytes:
    """Compile a package's files and the driver, as many at a time as there are cores; link them in order."""
    flags = [*FLAGS, *recipe.flags, f"-fmacro-prefix-map={root}/=", *recipe.include_flags(root)]
    jobs = [(source, root) for source in recipe.find_sources(root)]
    jobs.append((f"{recipe.name}/driver.c", FOLDER))  # relative, so that the module has no path of burnish

    def one(job: tuple[str, Path]) -> Program:
        source, directory = job
        return Program(
            source, "llvm", compile_to_bitcode(Path(source), flags, level=level, directory=directory)
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return link_programs(list(pool.map(one, jobs))).content


def _key(recipe: Recipe, level: str) -> str:
    """Return 16 hexadecimal digits over everything that the module depends on."""
    package = find_package(recipe.name)
    how = (recipe.sources, recipe.omit, recipe.include, FLAGS, recipe.flags)
    code = hashlib.blake2b(repr((package.sha256, how, level, clang_version())).encode(), digest_size=8)
    for file in [*sorted(recipe.folder.rglob("*.[ch]")), *sorted(FOLDER.glob("*.h"))]:
        code.update(file.read_bytes())
    return code.hexdigest()
