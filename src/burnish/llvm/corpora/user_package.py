"""Corpora of a user's own programs: a folder, a compilation database, or files of LLVM IR."""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from burnish import _native
from burnish.core.errors import CompileError, InputError
from burnish.llvm.corpora.building import (
    WORK,
    Compile,
    FileGroup,
    Item,
    PackageJob,
    PackProgress,
    build,
    recipe_of,
)
from burnish.llvm.corpora.compile_commands import NAME, Command, read_compile_commands, without_unknown
from burnish.llvm.corpora.manifest import Package
from burnish.llvm.corpora.mlgo import BITCODE, DESCRIPTION, read_mlgo
from burnish.llvm.corpora.pack import SUFFIX, PackRow, packed, write_pack
from burnish.llvm.corpora.public import folder_groups
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.corpora.tree import index_tree
from burnish.llvm.corpora.units import FLAGS, TIMELESS
from burnish.llvm.programs import link_programs, load_program
from burnish.llvm.toolchain import C_SUFFIXES, IR_SUFFIXES, clang_version, compile_to_bitcode, first_error
from burnish.workers.executor import Executor

LINKED = "linked"  # the path of a whole program, in its row
PART_FILES = 64  # files in one part of a build, if they are independent of each other
KEPT_OPTIONS = ("-w", "-g0", "-fno-ident", "-ferror-limit=1", *TIMELESS)  # added to a build's own options


@dataclass(frozen=True)
class UserPackage:
    """A user's own files that become a package of a corpus."""

    source: str  # a folder, a compile_commands.json, a corpus of MLGO or a pattern such as 'build/*.bc'
    name: str = ""  # of the package; by default the folder's name
    split: str = "train"
    clang: tuple[str, ...] = ()  # options for a folder's C and C++ files
    functions: str | None = None
    """Makes a program from each function ("": all functions, or one name); None: from each file."""


def build_user_package(
    folder: Path,
    own: UserPackage,
    *,
    link: bool = False,
    do: Executor | None = None,
    progress: Callable[[PackProgress], None] | None = None,
    again: bool = False,
) -> str:
    """Build a package of a user's own files into a corpus; return the package's name.

    `link` makes one program of all files that compile. For the other arguments see `build`; `again` also
    compiles files whose headers outside the folder may have changed.

    Raises:
        InputError: there is nothing to compile, no file compiles, or the files do not link.
    """
    job = user_package_job(own)
    if not link:
        build(folder, [job], do=do, progress=progress, again=again)
        return job.name
    files = folder / WORK / f"{job.name}.files"
    build(files, [job], do=do, progress=progress, again=again)
    corpus = open_corpus(files)
    rows = [row for row in corpus.rows if row.status == "compiled"]
    if not rows:
        raise InputError(f"{own.source}: no file compiled: {corpus.rows[0].name}: {corpus.rows[0].reason}")
    whole = link_programs([corpus.open(row) for row in rows]).content
    linked = packed(PackRow(job.name, LINKED, own.split, "llvm", "compiled"), whole)
    others = [(row, b"") for row in corpus.rows if row.status != "compiled"]
    write_pack(folder / f"{job.name}{SUFFIX}", job.name, job.recipe, [linked, *others])
    shutil.rmtree(files)
    with contextlib.suppress(OSError):  # not empty, if it has parts of another package
        (folder / WORK).rmdir()
    return job.name


def user_package_job(own: UserPackage) -> PackageJob:
    """Plan the build of a package from a user's own files."""
    path = Path(own.source)
    parts: list[FileGroup] = []
    if path.name == DESCRIPTION or (path / DESCRIPTION).is_file():
        corpus = read_mlgo(path.resolve())
        root = corpus.folder
        files = [root / DESCRIPTION, *(corpus.path(module) for module in corpus.modules)]
        read = functools.partial(read_modules, root)
        parts = [FileGroup(key, modules, read) for key, modules in _chunks("modules", corpus.modules)]
    elif path.is_dir():
        root = path.resolve()
        files, parts = _folder_parts(own, root)
    elif path.name.endswith(".json"):
        root = path.resolve().parent
        commands = {command.name: command for command in read_compile_commands(path)}
        files = [path, *(command.directory / command.source for command in commands.values())]
        for key, names in _chunks("commands", list(commands)):
            chosen = {name: commands[name] for name in names}
            parts.append(FileGroup(key, names, functools.partial(compile_commands, chosen)))
    else:
        root, files, parts = _pattern_parts(own)
    if not parts:
        raise InputError(
            f"{own.source}: nothing to compile there; expected a folder with C, C++, .ll or .bc files, "
            f"a {NAME}, or a pattern of .ll and .bc files"
        )
    parts = [replace(part, split=own.split) for part in parts]
    if own.functions is not None:
        parts = [
            replace(part, compile=functools.partial(_each_function, part.compile, own.functions))
            for part in parts
        ]
    # a valid file name, without '/'
    name = re.sub(r"[^\w.+-]+", "-", own.name or root.name).strip("-.") or "own"
    return PackageJob(name, recipe_of(own, clang_version(), FLAGS, fingerprint(files)), tuple(parts))


def _folder_parts(own: UserPackage, root: Path) -> tuple[list[Path], list[FileGroup]]:
    """Return all files of the folder, including headers, and the groups to compile."""
    tree = index_tree(root)
    files = sorted(path for paths in tree.by_name.values() for path in paths)
    package = Package(own.name, "", "", "", 0, "", "no", 0, 0)
    ir = [path for path in files if PurePosixPath(path).suffix in IR_SUFFIXES]
    parts = [*folder_groups(root, tree.sources(), package, own.clang), *_ir_parts(root, ir)]
    return [root / path for path in files], parts


def _pattern_parts(own: UserPackage) -> tuple[Path, list[Path], list[FileGroup]]:
    found = glob.glob(own.source, recursive=True)  # noqa: PTH207 - a Path does not take absolute patterns
    files = sorted(Path(name).resolve() for name in found if Path(name).is_file())
    if not files:
        return Path(), [], []
    if wrong := [file for file in files if file.suffix not in IR_SUFFIXES]:
        raise InputError(f"{wrong[0]}: a pattern is for .ll and .bc files; for C and C++ name the folder")
    root = Path(os.path.commonpath([file.parent for file in files]))
    return root, files, _ir_parts(root, [file.relative_to(root).as_posix() for file in files])


def _ir_parts(root: Path, paths: Sequence[str]) -> list[FileGroup]:
    read = functools.partial(read_ir, root)
    return [FileGroup(key, chunk, read) for key, chunk in _chunks("ir", paths)]


def _chunks(kind: str, paths: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield groups of at most PART_FILES files, each with a key."""
    for number, start in enumerate(range(0, len(paths), PART_FILES)):
        yield f"{kind} {number}", tuple(paths[start : start + PART_FILES])


def compile_commands(
    commands: Mapping[str, Command], paths: tuple[str, ...], _: Path
) -> Iterator[list[Item]]:
    """Compile files with a build's own options."""
    for path in paths:
        command = commands[path]
        language = "c" if Path(command.source).suffix in C_SUFFIXES else "c++"
        row = PackRow("", path, "", language, "compiled")
        try:
            yield [(row, _compile_command(command))]
        except CompileError as error:
            yield [(replace(row, status="failed", reason=first_error(str(error))), b"")]
        except InputError as error:  # the file or its folder no longer exists
            yield [(replace(row, status="failed", reason=str(error)), b"")]


def _compile_command(command: Command) -> bytes:
    """Return the bitcode; options that clang does not know, such as gcc's, are left out."""
    if not command.directory.is_dir():
        raise InputError(f"{command.directory}: no such folder")
    arguments = command.arguments
    while True:
        try:
            return compile_to_bitcode(
                Path(command.source), (*arguments, *KEPT_OPTIONS), directory=command.directory
            )
        except CompileError as error:
            fewer = without_unknown(arguments, first_error(str(error)))
            if fewer is None:
                raise
            arguments = fewer


def read_ir(root: Path, paths: tuple[str, ...], _: Path) -> Iterator[list[Item]]:
    """Read .ll and .bc files; the reason of a failed row is LLVM's own message."""
    for path in paths:
        row = PackRow("", path, "", "llvm", "compiled")
        try:
            module = _native.Module(load_program(root / path).content, path)
        except (InputError, _native.InputError) as error:
            yield [(replace(row, status="failed", reason=str(error)), b"")]
        else:
            yield [(row, module.bitcode())]


def read_modules(root: Path, paths: tuple[str, ...], scratch: Path) -> Iterator[list[Item]]:
    """Read the modules of an MLGO corpus unchanged, under the corpus' own names."""
    rows = read_ir(root, tuple(f"{path}{BITCODE}" for path in paths), scratch)
    for path, ((row, bitcode),) in zip(paths, rows, strict=True):
        yield [(replace(row, path=path), bitcode)]


def _each_function(
    compile_files: Compile, wanted: str, paths: tuple[str, ...], scratch: Path
) -> Iterator[list[Item]]:
    """Compile files, and split their modules into functions."""
    for items in compile_files(paths, scratch):
        yield [one for row, bitcode in items for one in _functions(row, bitcode, wanted)]


def _functions(row: PackRow, bitcode: bytes, wanted: str) -> Iterator[Item]:
    """Yield a program FILE:FUNCTION for each function; without any, one skipped row with the reason."""
    if not bitcode:
        yield row, b""
        return
    module = _native.Module(bitcode, row.name)
    names = [name for name in module.functions if wanted in ("", name)]
    if not names:
        what = f"no function {wanted!r} with a body" if wanted else "no function with a body"
        yield replace(row, status="skipped", reason=what), b""
    for name in names:
        yield replace(row, path=f"{row.path}:{name}"), module.extract(name).bitcode()


def fingerprint(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return names, sizes and times of files; an interrupted build continues only if they are unchanged."""
    found = []
    for path in files:
        with contextlib.suppress(OSError):  # a missing file is reported when it is compiled
            status = path.stat()
            found.append((str(path), status.st_size, status.st_mtime_ns))
    return found
