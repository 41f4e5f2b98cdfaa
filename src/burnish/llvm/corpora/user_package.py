"""Corpora of a user's own programs: a folder, a compilation database, or files of LLVM IR."""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from burnish import _native
from burnish.core.errors import CompileError, InputError
from burnish.llvm.corpora.building import WORK, FileGroup, Item, PackageJob, PackProgress, build, recipe_of
from burnish.llvm.corpora.compile_commands import NAME, Command, read_compile_commands, without_unknown
from burnish.llvm.corpora.manifest import Package
from burnish.llvm.corpora.mlgo import BITCODE, DESCRIPTION, read_mlgo
from burnish.llvm.corpora.pack import SUFFIX, PackRow, compiled_row, compress, write_pack
from burnish.llvm.corpora.public import folder_groups, unit_row
from burnish.llvm.corpora.repair import first_error
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.corpora.tree import SourceTree, index_tree
from burnish.llvm.corpora.units import FLAGS, TIMELESS, compile_folder
from burnish.llvm.programs import link_programs, load_program
from burnish.llvm.toolchain import C_SUFFIXES, IR_SUFFIXES, clang_version, compile_to_bitcode

CompileRows = Callable[[tuple[str, ...], Path], Iterator[Item]]


class Piece(NamedTuple):
    """Files that one process compiles, and the function that compiles them."""

    key: str
    paths: tuple[str, ...]
    rows: CompileRows
    weight: int = 0


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
    processes: int | None = None,
    progress: Callable[[PackProgress], None] | None = None,
    again: bool = False,
) -> str:
    """Build a package of a user's own files into a corpus; return the package's name.

    Args:
        folder: The corpus.
        own: The files to compile.
        link: Link all files that compile into one program.
        processes: Number of processes; by default one for each core.
        progress: Called after every file.
        again: Also rebuild existing packs, because a header outside the folder may have changed.

    Raises:
        InputError: there is nothing to compile, no file compiles, or the files do not link.
    """
    job = user_package_job(own)
    if not link:
        build(folder, [job], processes=processes, progress=progress, again=again)
        return job.name
    files = folder / WORK / f"{job.name}.files"
    build(files, [job], processes=processes, progress=progress, again=again)
    corpus = open_corpus(files)
    rows = [row for row in corpus.rows if row.status == "compiled"]
    if not rows:
        raise InputError(f"{own.source}: no file compiled: {corpus.rows[0].name}: {corpus.rows[0].reason}")
    whole = link_programs([corpus.open(row) for row in rows]).content
    linked = compiled_row(PackRow(job.name, LINKED, own.split, "llvm", "compiled"), whole)
    others = [(row, b"") for row in corpus.rows if row.status != "compiled"]
    write_pack(folder / f"{job.name}{SUFFIX}", job.name, job.recipe, [(linked, compress(whole)), *others])
    shutil.rmtree(files)
    with contextlib.suppress(OSError):  # not empty, if it has parts of another package
        (folder / WORK).rmdir()
    return job.name


def user_package_job(own: UserPackage) -> PackageJob:
    """Plan the build of a package from a user's own files.

    Raises:
        InputError: there is nothing to compile.
    """
    path = Path(own.source)
    if path.name == DESCRIPTION or (path / DESCRIPTION).is_file():
        root, files, pieces = _mlgo_pieces(path)
    elif path.is_dir():
        root = path.resolve()
        files, pieces = _folder_pieces(own, root)
    elif path.name.endswith(".json"):
        root = path.resolve().parent
        files, pieces = _command_pieces(path)
    else:
        root, files, pieces = _pattern_pieces(own)
    if not pieces:
        raise InputError(
            f"{own.source}: nothing to compile there; expected a folder with C, C++, .ll or .bc files, "
            f"a {NAME}, or a pattern of .ll and .bc files"
        )
    name = _package_name(own.name or root.name)
    parts = tuple(
        FileGroup(
            piece.key, piece.paths, functools.partial(_run, piece.rows, name, own), own.split, piece.weight
        )
        for piece in pieces
    )
    return PackageJob(name, recipe_of(own, clang_version(), FLAGS, _fingerprint(files)), parts)


def _folder_pieces(own: UserPackage, root: Path) -> tuple[list[Path], list[Piece]]:
    """Return all files of the folder, including headers, and the pieces to compile."""
    tree = index_tree(root)
    files = sorted(path for paths in tree.by_name.values() for path in paths)
    pieces = []
    for paths in folder_groups(tree.sources()):
        weight = sum((root / path).stat().st_size for path in paths)
        pieces.append(Piece(paths[0], paths, functools.partial(compile_sources, root, own), weight))
    ir = [path for path in files if PurePosixPath(path).suffix in IR_SUFFIXES]
    return [root / path for path in files], pieces + _chunks(root, ir)


def _command_pieces(path: Path) -> tuple[list[Path], list[Piece]]:
    commands = {command.name: command for command in read_compile_commands(path)}
    pieces = []
    for number, names in enumerate(_in_chunks(list(commands))):
        chosen = tuple(commands[name] for name in names)
        pieces.append(Piece(f"commands {number}", names, functools.partial(compile_commands, chosen)))
    files = [command.directory / command.source for command in commands.values()]
    return [path, *files], pieces


def _mlgo_pieces(path: Path) -> tuple[Path, list[Path], list[Piece]]:
    corpus = read_mlgo(path.resolve())
    read = functools.partial(read_modules, corpus.folder)
    chunks = enumerate(_in_chunks(corpus.modules))
    files = [corpus.folder / DESCRIPTION, *(corpus.path(module) for module in corpus.modules)]
    return corpus.folder, files, [Piece(f"modules {number}", chunk, read) for number, chunk in chunks]


def _pattern_pieces(own: UserPackage) -> tuple[Path, list[Path], list[Piece]]:
    found = glob.glob(own.source, recursive=True)  # noqa: PTH207 - a Path does not take absolute patterns
    files = sorted(Path(name).resolve() for name in found if Path(name).is_file())
    if not files:
        return Path(), [], []
    if wrong := [file for file in files if file.suffix not in IR_SUFFIXES]:
        raise InputError(f"{wrong[0]}: a pattern is for .ll and .bc files; for C and C++ name the folder")
    root = Path(os.path.commonpath([file.parent for file in files]))
    return root, files, _chunks(root, [file.relative_to(root).as_posix() for file in files])


def _chunks(root: Path, paths: Sequence[str]) -> list[Piece]:
    read = functools.partial(read_ir, root)
    return [Piece(f"ir {number}", chunk, read) for number, chunk in enumerate(_in_chunks(paths))]


def _in_chunks(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(names), PART_FILES):
        yield tuple(names[start : start + PART_FILES])


def compile_sources(root: Path, own: UserPackage, paths: tuple[str, ...], scratch: Path) -> Iterator[Item]:
    """Compile files of one folder like those of a pinned package; headers are generated in `scratch`."""
    tree = replace(_tree(root), generated=str(scratch))
    package = Package(own.name, "", "", "", 0, "", "no", 0, 0)
    for unit, bitcode in compile_folder(tree, package, paths, own.clang):
        yield unit_row(unit, own.split), bitcode


def compile_commands(commands: Sequence[Command], paths: tuple[str, ...], _: Path) -> Iterator[Item]:
    """Compile files with a build's own options."""
    for command in commands:
        if command.name in paths:
            language = "c" if Path(command.source).suffix in C_SUFFIXES else "c++"
            row = PackRow("", command.name, "", language, "compiled")
            try:
                yield row, _compile_command(command)
            except CompileError as error:
                yield replace(row, status="failed", reason=first_error(str(error))), b""
            except InputError as error:  # the file or its folder no longer exists
                yield replace(row, status="failed", reason=str(error)), b""


def _compile_command(command: Command) -> bytes:
    """Return the bitcode; options that clang does not know, such as gcc's, are left out.

    Raises:
        CompileError: clang rejects the file.
        InputError: the file or its folder does not exist.
    """
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


def read_ir(root: Path, paths: tuple[str, ...], _: Path) -> Iterator[Item]:
    """Read .ll and .bc files; the reason of a failed row is LLVM's own message."""
    for path in paths:
        row = PackRow("", path, "", "llvm", "compiled")
        try:
            module = _native.Module(load_program(root / path).content, path)
        except (InputError, _native.InputError) as error:
            yield replace(row, status="failed", reason=str(error)), b""
        else:
            yield row, module.bitcode()


def read_modules(root: Path, paths: tuple[str, ...], scratch: Path) -> Iterator[Item]:
    """Read the modules of an MLGO corpus unchanged, under the corpus' own names."""
    rows = read_ir(root, tuple(f"{path}{BITCODE}" for path in paths), scratch)
    for path, (row, bitcode) in zip(paths, rows, strict=True):
        yield replace(row, path=path), bitcode


def _run(
    compile_rows: CompileRows, name: str, own: UserPackage, paths: tuple[str, ...], scratch: Path
) -> Iterator[list[Item]]:
    """Compile files, and split their modules into functions if the package asks for that."""
    for row, bitcode in compile_rows(paths, scratch):
        row = replace(row, package=name, split=own.split)
        if own.functions is None or not bitcode:
            yield [(row, bitcode)]
        else:
            yield list(_functions(row, bitcode, own.functions))


def _functions(row: PackRow, bitcode: bytes, wanted: str) -> Iterable[Item]:
    """Yield a program FILE:FUNCTION for each function; without any, one skipped row with the reason."""
    module = _native.Module(bitcode, row.name)
    names = [name for name in module.functions if wanted in ("", name)]
    if not names:
        what = f"no function {wanted!r} with a body" if wanted else "no function with a body"
        yield replace(row, status="skipped", reason=what), b""
    for name in names:
        yield replace(row, path=f"{row.path}:{name}"), module.extract(name).bitcode()


@functools.lru_cache(maxsize=2)
def _tree(root: Path) -> SourceTree:
    return index_tree(root)


def _fingerprint(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return names, sizes and times of files; an interrupted build continues only if they are unchanged."""
    found = []
    for path in files:
        with contextlib.suppress(OSError):  # a missing file is reported when it is compiled
            status = path.stat()
            found.append((str(path), status.st_size, status.st_mtime_ns))
    return found


def _package_name(text: str) -> str:
    """Return a text as a valid file name, without '/'."""
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or "own"
