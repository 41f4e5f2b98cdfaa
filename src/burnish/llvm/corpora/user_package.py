"""Corpora of a user's own programs: a folder, a compilation database, a build's objects, files of LLVM IR."""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from burnish import _native
from burnish.core.errors import CompileError, InputError
from burnish.llvm.corpora.building import (
    LIMITS,
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
from burnish.llvm.corpora.flags import UNCHANGED, FlagChanges, with_changes
from burnish.llvm.corpora.manifest import Package
from burnish.llvm.corpora.mlgo import BITCODE, DESCRIPTION, MlgoCorpus, read_mlgo
from burnish.llvm.corpora.objects import ObjectFile, base_of, find_objects, read_object
from burnish.llvm.corpora.pack import SUFFIX, PackRow, packed, write_pack
from burnish.llvm.corpora.public import folder_groups
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.corpora.tree import index_tree
from burnish.llvm.corpora.units import FLAGS, TIMELESS
from burnish.llvm.programs import import_programs, link_programs, load_program
from burnish.llvm.toolchain import C_SUFFIXES, IR_SUFFIXES, clang_version, compile_to_bitcode, first_error
from burnish.workers.executor import Executor
from burnish.workers.worker import Worker

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
    objects: bool = False  # read the modules in the objects that `source` names; see objects.find_objects
    base: Path | None = None  # with `objects`: the folder in which a link ran
    command: str = ""  # with `objects`: a regular expression; only modules with such an option
    flags: FlagChanges = UNCHANGED  # of modules and files that come with options


def build_user_package(
    folder: Path,
    own: UserPackage,
    *,
    link: Literal["", "lto", "thinlto"] = "",
    do: Executor | None = None,
    progress: Callable[[PackProgress], None] | None = None,
    again: bool = False,
) -> str:
    """Build a package of a user's own files into a corpus; return the package's name.

    Args:
        folder: The corpus.
        own: The files.
        link: "lto" makes one program of all files that compile; "thinlto" gives each program functions of
            the others, which LLVM chooses by summaries of all.
        do: See `build`.
        progress: See `build`.
        again: Also compile files whose headers outside the folder may have changed.

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
    items = [(row, b"") for row in corpus.rows if row.status != "compiled"]
    programs = [corpus.open(row) for row in rows]
    if link == "lto":
        whole = PackRow(job.name, LINKED, own.split, "llvm", "compiled")
        items.append(packed(whole, link_programs(programs).content))
    else:
        with closing(Worker(LIMITS)) as worker:
            imported = worker.call(import_programs, programs)
        items += [packed(row, program.content) for row, program in zip(rows, imported, strict=True)]
    write_pack(folder / f"{job.name}{SUFFIX}", job.name, job.recipe, items)
    shutil.rmtree(files)
    with contextlib.suppress(OSError):  # not empty, if it has parts of another package
        (folder / WORK).rmdir()
    return job.name


def user_package_job(own: UserPackage) -> PackageJob:
    """Plan the build of a package from a user's own files."""
    path = Path(own.source)
    is_mlgo = path.name == DESCRIPTION or (path / DESCRIPTION).is_file()
    if own.flags != UNCHANGED and not (own.objects or is_mlgo or path.suffix == ".json"):
        raise InputError(
            f"{own.source}: its files come without options that could be changed; expected a {NAME}, an MLGO "
            "corpus or objects. Options for clang follow a double dash."
        )
    if own.objects:
        root, files, parts = _object_parts(own, path)
    elif is_mlgo:
        root, files, parts = _mlgo_parts(own, path)
    elif path.is_dir():
        root = path.resolve()
        files, parts = _folder_parts(own, root)
    elif path.name.endswith(".json"):
        root, files, parts = _command_parts(own, path)
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


Parts = tuple[Path, list[Path], list[FileGroup]]
"""The common folder, the files whose change needs another build, and the groups to compile."""


def _object_parts(own: UserPackage, path: Path) -> Parts:
    root = base_of(path, own.base)
    objects = {one.name: one for one in find_objects(path, own.base)}
    parts = []
    for key, names in _chunks("objects", list(objects)):
        chosen = {name: objects[name] for name in names}
        read = functools.partial(read_objects, root, chosen, own.command, own.flags)
        parts.append(FileGroup(key, names, read))
    return root, [path, *dict.fromkeys(one.path for one in objects.values())], parts


def _mlgo_parts(own: UserPackage, path: Path) -> Parts:
    corpus = read_mlgo(path.resolve())
    parts = []
    for key, names in _chunks("modules", corpus.modules):
        chosen = {name: _options_of(corpus, name, own.flags) for name in names}
        parts.append(FileGroup(key, names, functools.partial(read_modules, corpus.folder, chosen)))
    files = [corpus.folder / DESCRIPTION, *(corpus.path(module) for module in corpus.modules)]
    return corpus.folder, files, parts


def _command_parts(own: UserPackage, path: Path) -> Parts:
    commands = {
        command.name: replace(command, arguments=with_changes(command.arguments, own.flags))
        for command in read_compile_commands(path)
    }
    parts = []
    for key, names in _chunks("commands", list(commands)):
        chosen = {name: commands[name] for name in names}
        parts.append(FileGroup(key, names, functools.partial(compile_commands, chosen)))
    files = [path, *(command.directory / command.source for command in commands.values())]
    return path.resolve().parent, files, parts


def _folder_parts(own: UserPackage, root: Path) -> tuple[list[Path], list[FileGroup]]:
    """Return all files of the folder, including headers, and the groups to compile."""
    tree = index_tree(root)
    files = sorted(path for paths in tree.by_name.values() for path in paths)
    package = Package(own.name, "", "", "", 0, "", "no", 0, 0)
    ir = [path for path in files if PurePosixPath(path).suffix in IR_SUFFIXES]
    parts = [*folder_groups(root, tree.sources(), package, own.clang), *_ir_parts(root, ir)]
    return [root / path for path in files], parts


def _pattern_parts(own: UserPackage) -> Parts:
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


def read_objects(
    root: Path,
    objects: Mapping[str, ObjectFile],
    command: str,
    flags: FlagChanges,
    paths: tuple[str, ...],
    _: Path,
) -> Iterator[list[Item]]:
    """Read the modules in objects, with their options."""
    for path in paths:
        row = PackRow("", path, "", "llvm", "compiled")
        try:
            found = read_object(objects[path], root, command)
            if isinstance(found, str):
                yield [(replace(row, status="skipped", reason=found), b"")]
                continue
            module = _native.Module(found.bitcode, path)
        except (InputError, _native.InputError) as error:
            yield [(replace(row, status="failed", reason=str(error)), b"")]
        else:
            row = replace(row, path=found.name, options=with_changes(found.options, flags))
            yield [(row, module.bitcode())]


def _options_of(corpus: MlgoCorpus, module: str, flags: FlagChanges) -> tuple[str, ...]:
    """Return a module's changed options; none if its .cmd file or the corpus' override has none."""
    with contextlib.suppress(InputError):
        return with_changes(corpus.options(module), flags)
    return ()


def read_modules(
    root: Path, options: Mapping[str, tuple[str, ...]], paths: tuple[str, ...], scratch: Path
) -> Iterator[list[Item]]:
    """Read the modules of an MLGO corpus unchanged, under the corpus' own names."""
    rows = read_ir(root, tuple(f"{path}{BITCODE}" for path in paths), scratch)
    for path, ((row, bitcode),) in zip(paths, rows, strict=True):
        yield [(replace(row, path=path, options=options[path]), bitcode)]


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
