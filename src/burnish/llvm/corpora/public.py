"""The public corpus: the pinned packages, fetched and compiled."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from burnish.files import default_cache
from burnish.llvm.corpora.building import FileGroup, PackageJob, recipe_of
from burnish.llvm.corpora.manifest import Package, packages_in
from burnish.llvm.corpora.pack import PackRow
from burnish.llvm.corpora.splits import repeat_reason
from burnish.llvm.corpora.tree import SourceTree, folder_of, index_tree
from burnish.llvm.corpora.units import FLAGS, Failed, Skipped, Unit, compile_folder
from burnish.llvm.toolchain import C_SUFFIXES, clang_version

PART_FILES = 24
RECIPE = 2  # increment it when the build of a package changes its result


def default_folder() -> Path:
    """Return the default folder of the public corpus."""
    return default_cache() / "corpus"


def packages_of(splits: Sequence[str]) -> list[Package]:
    """Return the packages of some splits, each with or without a version ("test@1")."""
    return [package for split in splits for package in packages_in(split)]


def package_job(root: Path, package: Package, limit: int | None = None) -> PackageJob:
    """Plan the build of a package.

    Args:
        root: The unpacked sdist, as `fetch` returns it.
        package: Its entry in the manifest.
        limit: Try only this many files, the first by path; None tries all.
    """
    root = root.resolve()
    paths = list(itertools.islice(index_tree(root).sources(), limit))
    compile_paths = functools.partial(compile_paths_of, root, package)
    parts = []
    for group in folder_groups(paths):
        weight = sum((root / path).stat().st_size for path in group)
        parts.append(FileGroup(group[0], group, compile_paths, package.split, weight))
    ingredients = [RECIPE, package.sha256, package.split, package.defines, FLAGS, clang_version(), limit]
    for rarely in (package.repeats.items(), package.tables):  # only if present, so other packs stay valid
        if rarely:
            ingredients.append(sorted(rarely))
    return PackageJob(package.name, recipe_of(*ingredients), tuple(parts))


def folder_groups(paths: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield groups of at most PART_FILES files of one folder; few, as a killed build repeats its groups."""
    for _, inside in itertools.groupby(paths, folder_of):
        group = tuple(inside)
        yield from (group[start : start + PART_FILES] for start in range(0, len(group), PART_FILES))


def compile_paths_of(
    root: Path, package: Package, paths: tuple[str, ...], scratch: Path
) -> Iterator[list[tuple[PackRow, bytes]]]:
    """Compile files of one folder of a package; headers are generated in `scratch`.

    They are not generated beside the sources, because a header left by another folder or an earlier build
    could change the result.
    """
    tree = replace(_tree(root), generated=str(scratch))
    for unit, bitcode in compile_folder(tree, package, paths):
        row = unit_row(unit, package.split)
        if row.status == "compiled" and (other := package.repeats.get(row.path)):
            row = replace(row, status="repeated", reason=repeat_reason(other))
        yield [(row, bitcode)]


def unit_row(unit: Unit | Skipped | Failed, split: str) -> PackRow:
    """Return a file's row, without the fields that depend on its bitcode."""
    language = "c" if Path(unit.path).suffix in C_SUFFIXES else "c++"
    row = PackRow(unit.package, unit.path, split, language, "compiled")
    if isinstance(unit, Unit):
        return row
    return replace(row, status="skipped" if isinstance(unit, Skipped) else "failed", reason=unit.reason)


@functools.lru_cache(maxsize=2)
def _tree(root: Path) -> SourceTree:
    return index_tree(root)
