"""From a user's folder to the programs of a dataset: which files make a program, its name, its bitcode."""

from __future__ import annotations

import functools
import importlib
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from burnish import _native
from burnish.core.errors import CompileError, InputError, MissingTool
from burnish.core.program import Program
from burnish.llvm.corpora.building import FileGroup, Item, PackageJob, recipe_of
from burnish.llvm.corpora.compile_commands import NAME
from burnish.llvm.corpora.datasets.table import Dataset, Layout
from burnish.llvm.corpora.pack import PackRow
from burnish.llvm.corpora.units import LENIENT
from burnish.llvm.corpora.user_package import UserPackage, fingerprint, user_package_job
from burnish.llvm.programs import link_programs
from burnish.llvm.toolchain import (
    C_SUFFIXES,
    CXX_SUFFIXES,
    clang_version,
    compile_to_bitcode,
    cxx_library_options,
    first_error,
)

PART_FILES = 32  # programs in one part of a build
FLAGS = ("-w", "-g0", "-fno-ident", "-ferror-limit=1", *(f"-Wno-error={name}" for name in LENIENT.split()))
MAIN = re.compile(rb"\bmain\s*\(")
FROM_SOURCE = ("files", "folders")  # kinds of layouts that a dataset may have together
CONTENTS = "contents"  # CompilerGym's folder for the files of a dataset


@dataclass(frozen=True)
class Found:
    """The programs of one layout in a user's folder."""

    layout: Layout
    root: Path
    names: Mapping[str, str] = field(hash=False)  # of programs, by the path of the file that stands for each


def find_programs(dataset: Dataset, folder: Path) -> list[Found]:
    """Return the programs in a user's folder, by layout; a folder of modules has no other programs.

    Raises:
        InputError: the folder does not exist, or it has none of the dataset's layouts.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected the files of {dataset.id}: {dataset.obtain}")
    found = [one for one in (_find(dataset, layout, folder) for layout in dataset.layouts) if one]
    if not found:
        wanted = [layout.marker or " ".join(layout.where) or "C and C++ files" for layout in dataset.layouts]
        raise InputError(
            f"{folder}: no program of {dataset.id} there; expected one of: {'; '.join(wanted)}. "
            f"Where the files are: {dataset.obtain}"
        )
    if found[0].layout.kind in FROM_SOURCE:
        return [one for one in found if one.layout.kind in FROM_SOURCE]
    return found[:1]


def import_job(
    dataset: Dataset, found: Sequence[Found], flags: tuple[str, ...], limit: int | None
) -> PackageJob:
    """Plan the build of a dataset's package, or of its first programs by path."""
    parts: list[FileGroup] = []
    files: list[Path] = []
    for one in found:
        if one.layout.kind == "own":
            return _own_job(dataset, one, flags)
        compile_files = functools.partial(COMPILERS[one.layout.kind], one, flags)
        paths = list(one.names)[:limit]
        files += [one.root / re.sub(r"#\d+$", "", path) for path in paths]
        for start in range(0, len(paths), PART_FILES):
            key = f"{one.layout.kind} {one.layout.where} {start}"
            parts.append(
                FileGroup(key, tuple(paths[start : start + PART_FILES]), compile_files, dataset.split)
            )
    recipe = recipe_of(dataset, clang_version(), FLAGS, flags, limit, fingerprint(files))
    return PackageJob(dataset.id, recipe, tuple(parts))


def _own_job(dataset: Dataset, found: Found, flags: tuple[str, ...]) -> PackageJob:
    """Plan the build of a folder or a compilation database, as `burnish corpus build --from` does."""
    database = found.root / NAME
    source = database if database.is_file() else found.root
    return user_package_job(UserPackage(str(source), dataset.id, dataset.split, flags))


def _find(dataset: Dataset, layout: Layout, folder: Path) -> Found | None:
    """Return the programs of a layout; None if the folder has none."""
    root = _root(dataset, layout, folder)
    if root is None:
        return None
    if layout.kind == "own":
        sources = C_SUFFIXES | CXX_SUFFIXES
        any_source = any(path.suffix in sources for path in root.rglob("*"))
        return Found(layout, root, {}) if (root / NAME).is_file() or any_source else None
    paths = sorted({path.relative_to(root).as_posix() for glob in layout.where for path in root.glob(glob)})
    if layout.mains:
        paths = [path for path in paths if MAIN.search((root / path).read_bytes())]
    if layout.kind == "folders":
        paths = sorted({_folder_of(path): path for path in paths if _sources(root, path)}.values())
    if layout.kind == "parquet":
        paths = [part for path in paths for part in _row_groups(root, path)]
    return Found(layout, root, _named(dataset, layout, paths)) if paths else None


def _root(dataset: Dataset, layout: Layout, folder: Path) -> Path | None:
    """Return the folder that the layout's paths start at; None if its marker is nowhere."""
    if layout.marker:
        marks = sorted(folder.glob(f"**/{layout.marker}"), key=lambda path: (len(path.parts), path))
        return marks[0].parents[layout.marker.count("/")] if marks else None
    inside = {name.lower() for name in (dataset.id, dataset.name, CONTENTS, layout.inside)}
    while between := [path for path in folder.iterdir() if path.is_dir() and path.name.lower() in inside]:
        folder = min(between)
    return folder


def _named(dataset: Dataset, layout: Layout, paths: Sequence[str]) -> dict[str, str]:
    """Return the programs' names by path; where several would have one name, their paths are the names."""
    names = {path: _name(dataset, layout, path) for path in paths}
    count = Counter(names.values())
    return {path: name if count[name] == 1 else _without_suffix(path) for path, name in names.items()}


def _name(dataset: Dataset, layout: Layout, path: str) -> str:
    folder = _folder_of(path)
    if layout.kind == "folders" and layout.name == "path":
        return folder
    if layout.name == "path":
        return _without_suffix(path)
    last = folder.removesuffix("/src").rpartition("/")[2] or PurePosixPath(path).stem
    short = re.sub(rf"^{re.escape(dataset.name)}-", "", last)
    areas = (last, short, short.partition("-")[2], short.replace("-", "_"))
    known = (dataset.other_names.get(area) or (area in dataset.runs and area) for area in areas)
    return next((name for name in known if name), short)


def _folder_of(path: str) -> str:
    """Return the folder of a program whose file is in it, or in its hidden folder."""
    folder = PurePosixPath(path).parent
    return (folder.parent if folder.name.startswith(".") else folder).as_posix()


def _without_suffix(path: str) -> str:
    return str(PurePosixPath(path).with_suffix(""))


def _sources(root: Path, path: str) -> list[str]:
    """Return the C and C++ files of a program that is a folder."""
    folder = root / _folder_of(path)
    names = (file for file in folder.iterdir() if file.suffix in C_SUFFIXES | CXX_SUFFIXES)
    return sorted(file.relative_to(root).as_posix() for file in names)


def _read_modules(
    found: Found, _: tuple[str, ...], paths: tuple[str, ...], scratch: Path
) -> Iterator[list[Item]]:
    """Read bitcode and text of any version of LLVM that this one upgrades."""
    for path in paths:
        row = PackRow("", found.names[path], "", "llvm", "compiled")
        yield [_upgraded(row, (found.root / path).read_bytes())]


def _compile(
    found: Found, flags: tuple[str, ...], paths: tuple[str, ...], scratch: Path
) -> Iterator[list[Item]]:
    """Compile programs of one or several source files."""
    for path in paths:
        whole = found.layout.kind == "folders"
        files = _sources(found.root, path) if whole else [path, *found.layout.linked]
        language = "c" if all(_language(found.layout, file) == "c" for file in files) else "c++"
        row = PackRow("", found.names[path], "", language, "compiled")
        try:
            parts = [_compile_file(found, flags, file, scratch) for file in files]
            if len(parts) > 1:
                parts = [link_programs([Program(row.path, "llvm", part) for part in parts]).content]
            yield [(row, parts[0])]
        except CompileError as error:
            yield [(replace(row, status="failed", reason=first_error(str(error))), b"")]
        except InputError as error:
            yield [(replace(row, status="failed", reason=str(error)), b"")]


def _compile_file(found: Found, flags: tuple[str, ...], file: str, scratch: Path) -> bytes:
    """Return a file's bitcode, which does not depend on where the user's folder is."""
    layout = found.layout
    include = [f"-I{found.root / folder}" for folder in (*layout.include, str(PurePosixPath(file).parent))]
    options = (*FLAGS, *layout.flags, *flags, *include, f"-fmacro-prefix-map={found.root}/=")
    if _language(layout, file) == "c++":
        options = (*cxx_library_options(("-c", *options)), *options)
    if not (layout.prelude or layout.replace or layout.language):
        return compile_to_bitcode(Path(file), options, directory=found.root)
    text = (found.root / file).read_text(encoding="utf-8", errors="replace")
    for pattern, new in layout.replace.items():
        text = re.sub(pattern, new, text, flags=re.MULTILINE)
    changed = Path(file).with_suffix(".c" if _language(layout, file) == "c" else ".cpp")
    (scratch / changed).parent.mkdir(parents=True, exist_ok=True)
    (scratch / changed).write_text(layout.prelude + text, encoding="utf-8")
    try:
        return compile_to_bitcode(changed, options, directory=scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _language(layout: Layout, file: str) -> str:
    return layout.language or ("c" if PurePosixPath(file).suffix in C_SUFFIXES else "c++")


def _row_groups(root: Path, path: str) -> list[str]:
    """Return the groups of rows in a Parquet file, each as PATH#NUMBER; each is one unit of work."""
    return [f"{path}#{number}" for number in range(_parquet().ParquetFile(root / path).num_row_groups)]


def _read_parquet(
    found: Found, _: tuple[str, ...], paths: tuple[str, ...], scratch: Path
) -> Iterator[list[Item]]:
    """Read modules in ComPile's columns: content, and where present package_source and language."""
    for path in paths:
        file, number = path.rsplit("#", 1)
        table = _parquet().ParquetFile(found.root / file).read_row_group(int(number))
        if "content" not in table.column_names:
            reason = f"no column 'content' with bitcode; it has {', '.join(table.column_names)}"
            yield [(PackRow("", path, "", "llvm", "failed", reason), b"")]
            continue
        items: list[Item] = []
        for index, values in enumerate(table.to_pylist()):
            package = re.sub(r"[^\w.+-]+", "-", str(values.get("package_source") or "")).strip("-")
            number_of = f"{_without_suffix(file).replace('/', '-')}-{number}-{index}"
            name = "/".join(part for part in (values.get("language"), package, number_of) if part)
            items.append(_upgraded(PackRow("", name, "", "llvm", "compiled"), values["content"]))
        yield items


def _upgraded(row: PackRow, content: bytes) -> Item:
    """Return a row with this version's bitcode; failed, with LLVM's message, if the module is invalid."""
    try:
        return row, _native.Module(content, "").bitcode()  # without the path, so that equal modules are equal
    except _native.InputError as error:
        return replace(row, status="failed", reason=str(error)), b""


def _parquet() -> Any:
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingTool("Parquet files need pyarrow; install it with: pip install pyarrow") from None


COMPILERS = {
    "modules": _read_modules,
    "files": _compile,
    "folders": _compile,
    "parquet": _read_parquet,
}
