"""The public corpus: the pinned packages, fetched and compiled."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from burnish.files import default_cache
from burnish.llvm.corpora.building import FileGroup, Item, PackageJob, recipe_of
from burnish.llvm.corpora.fetch import Progress, fetch
from burnish.llvm.corpora.manifest import Package, find_package, packages_in
from burnish.llvm.corpora.pack import PackRow
from burnish.llvm.corpora.splits import repeat_reason
from burnish.llvm.corpora.tree import folder_of, index_tree
from burnish.llvm.corpora.units import FLAGS, Unit, compile_folder, translation_units
from burnish.llvm.toolchain import C_SUFFIXES, clang_version

PART_FILES = 24
RECIPE = 2  # increment it when the build of a package changes its result

# Plain C that needs only the C library's headers; excludes the Python bindings and the C++ tool beside it.
DEMO_FOLDER = "zopfli/src/zopfli"


def default_folder() -> Path:
    """Return the default folder of the public corpus."""
    return default_cache() / "corpus"


def packages_of(splits: Sequence[str]) -> list[Package]:
    """Return the packages of some splits, each with or without a version ("test@1")."""
    return [package for split in splits for package in packages_in(split)]


def package_job(
    root: Path, package: Package, limit: int | None = None, flags: tuple[str, ...] = ()
) -> PackageJob:
    """Plan the build of an unpacked package, or of its first files by path.

    `flags` are further options of clang for all files, for another machine for example.
    """
    root = root.resolve()
    paths = itertools.islice(index_tree(root).sources(), limit)
    parts = folder_groups(root, paths, package, flags)
    ingredients = [RECIPE, package.sha256, package.split, package.defines, FLAGS, clang_version(), limit]
    for rarely in (package.repeats.items(), package.tables):  # only if present, so other packs stay valid
        if rarely:
            ingredients.append(sorted(rarely))
    if flags:
        ingredients.append(flags)
    return PackageJob(package.name, recipe_of(*ingredients), tuple(parts))


def demo_units(directory: Path, progress: Progress | None = None) -> list[Unit]:
    """Fetch zopfli; return the 12 C files of its library, with 20 to 4,000 instructions each."""
    package = find_package("zopfli")
    root = fetch(package, directory, progress)
    return [unit for unit in translation_units(root, package, within=DEMO_FOLDER) if isinstance(unit, Unit)]


def folder_groups(
    root: Path, paths: Iterable[str], package: Package, flags: tuple[str, ...] = ()
) -> Iterator[FileGroup]:
    """Yield groups of at most PART_FILES files of one folder; few, as a killed build repeats its groups."""
    compile_files = functools.partial(compile_sources, root, package, flags)
    for _, inside in itertools.groupby(paths, folder_of):
        files = tuple(inside)
        for start in range(0, len(files), PART_FILES):
            group = files[start : start + PART_FILES]
            weight = sum((root / path).stat().st_size for path in group)
            yield FileGroup(group[0], group, compile_files, package.split, weight)


def compile_sources(
    root: Path, package: Package, flags: tuple[str, ...], paths: tuple[str, ...], scratch: Path
) -> Iterator[list[Item]]:
    """Compile files of one folder of a package; headers are generated in `scratch`.

    They are not generated beside the sources, because a header left by another folder or an earlier build
    could change the result.
    """
    tree = replace(_tree(root), generated=str(scratch))
    for unit, bitcode in compile_folder(tree, package, paths, flags):
        language = "c" if Path(unit.path).suffix in C_SUFFIXES else "c++"
        row = PackRow("", unit.path, "", language, "compiled")
        if not isinstance(unit, Unit):
            row = replace(row, status=unit.status, reason=unit.reason)
        elif other := package.repeats.get(unit.path):
            row = replace(row, status="repeated", reason=repeat_reason(other))
        yield [(row, bitcode)]


_tree = functools.lru_cache(maxsize=2)(index_tree)
