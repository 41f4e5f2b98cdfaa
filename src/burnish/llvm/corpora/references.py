"""Names for programs, usable wherever a file is: corpus:train, kernels:fft, random:0..99, hot.c.

FILE                                      C, C++, .ll or .bc
FOLDER                                    all C and C++ files below the folder
build/compile_commands.json               all files that a build compiled, with the build's own options
build/compile_commands.json:src/hot.c     one file of a build
corpus:train  corpus:brotli               a split or a package of the public corpus
corpus:test@1                             the first version of a split
corpus:brotli/c/dec/decode.c              one program of the corpus; * and ? are wildcards
corpus@FOLDER:train                       a split, package or program of another corpus
kernels:fft  kernels:*                    programs of the runnable suite
kernels:fft@medium  kernels:*@small,large the same with other inputs: small, medium, large
workloads:lz4  workloads:lz4@large        real programs that can be run
random:7  random:0..99  random:7:5000     random programs by seed, also with another size
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.core.program_source import Programs
from burnish.llvm.corpora.compile_commands import (
    Command,
    read_compile_commands,
    read_left_out,
    without_all_unknown,
)
from burnish.llvm.corpora.manifest import split_version
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.random_modules import SIZE, random_module
from burnish.llvm.corpora.splits import read_splits
from burnish.llvm.corpora.store import SPLITS, Corpus, open_corpus
from burnish.llvm.programs import load_program
from burnish.llvm.toolchain import C_SUFFIXES, CXX_SUFFIXES

RUNNABLE = ("kernels", "workloads")
KINDS = ("corpus", *RUNNABLE, "random")
DATABASE = ".json"
SEEDS = re.compile(r"(\d+)(?:\.\.(\d+))?(?::(\d+))?")


def is_reference(text: str) -> bool:
    """Return whether a text is a name as listed above, and not an existing file."""
    kind = re.split("[:@]", text, maxsplit=1)[0]
    return (kind in KINDS and ":" in text and not Path(text).exists()) or database_of(text) is not None


def is_runnable(text: str) -> bool:
    """Return whether a text names kernels or workloads, which are compiled from source when opened."""
    return is_reference(text) and text.partition(":")[0] in RUNNABLE


def database_of(text: str) -> tuple[Path, str] | None:
    """Return the compilation database and the file's name in it, if a text names such a file, else None."""
    path, colon, name = text.rpartition(DATABASE + ":")
    found = Path(f"{path}{DATABASE}")
    return (found, name) if colon and name and not Path(text).exists() and found.is_file() else None


def command_of(text: str) -> Command | None:
    """Return a build's command for a file, if a text names a file of a compilation database, else None.

    Raises:
        UnknownName: the database has no such file; the message suggests the nearest ones.
        InputError: the database cannot be read.
    """
    if not (found := database_of(text)):
        return None
    database, name = found
    commands = _commands(database)
    if name not in commands:
        raise UnknownName.among(f"file in {database}", name, commands)
    return commands[name]


def resolve(text: str, arguments: Sequence[str] = (), *, level: str = "Oz") -> Sequence[Program]:
    """Return the programs that a name stands for; if there are many, each is read on access.

    Args:
        text: A file, or a name as above.
        arguments: clang's options, for C and C++ files; they come after a build's own.
        level: Optimization level of clang's front end, for C and C++ files and for kernels and workloads.

    Raises:
        UnknownName: nothing has that name; the message suggests the nearest ones.
        InputError: the file or the corpus does not exist, or cannot be used.
    """
    load = functools.partial(_load, arguments=tuple(arguments), level=level)
    if not is_reference(text):
        names = expand(text)
        return Programs(names, load) if names != [text] else [load(text)]
    if database_of(text):
        return [load(text)]
    kind, name = _before_name(text)[:-1], name_in(text)
    if kind == "corpus":
        return _of_corpus(_public(), name)
    if kind.startswith("corpus@"):
        return _of_corpus(open_corpus(Path(kind.removeprefix("corpus@")).expanduser()), name)
    if kind == "random":
        return _random(text, name)
    return _of_suite(kind, name, level)


def expand(text: str) -> list[str]:
    """Return the names of the single programs that a name stands for; `resolve_one` opens each.

    Raises:
        UnknownName: nothing has that name.
        InputError: the corpus does not exist, or the folder or the compilation database has no program.
    """
    if not is_reference(text):
        return _below(Path(text)) if Path(text).is_dir() else _compiled(text)
    if database_of(text):
        return [text]
    programs, kind = resolve(text), text.partition(":")[0]
    if isinstance(programs, Corpus):
        return [f"{_before_name(text)}{row.name}" for row in programs.programs]
    if isinstance(programs, Programs):
        return [f"{kind}:{name}" for name in programs.names]
    return [text]


def with_version(text: str) -> str:
    """Return a name with a fixed meaning: the name of a public split gets the current version.

    Without the version, results that were reported for a name no longer match it when the split grows.
    """
    split = text.removeprefix("corpus:")
    public = is_reference(text) and text.startswith("corpus:") and split in SPLITS
    if not public or read_splits(default_folder()):  # a user's own splits have no versions
        return text
    return f"{text}@{split_version(split)}"


def resolve_one(text: str, arguments: Sequence[str] = (), *, level: str = "Oz") -> Program:
    """Return the one program that a name stands for.

    Raises:
        UnknownName: nothing has that name.
        InputError: the name stands for several programs, or the file cannot be used.
    """
    programs = resolve(text, arguments, level=level)
    if len(programs) != 1:
        raise InputError(f"{text}: {len(programs)} programs, expected one; the first is {programs[0].name}")
    return programs[0]


def _load(text: str, arguments: tuple[str, ...], level: str) -> Program:
    """Open a file, or a file of a compilation database."""
    if command := command_of(text):
        options = (*without_all_unknown(command), *arguments)
        program = load_program(command.source, options, level=level, directory=command.directory)
        return dataclasses.replace(program, name=text)
    return load_program(_file(text), arguments, level=level)


def _below(folder: Path) -> list[str]:
    """Return the C and C++ files below a folder, except in hidden folders."""
    found = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        wanted = [name for name in sorted(names) if Path(name).suffix in C_SUFFIXES | CXX_SUFFIXES]
        found += [str(Path(root, name)) for name in wanted]
    if not found:
        raise InputError(f"{folder}: there is no C or C++ file (.c .cc .cpp .cxx) below this folder")
    return found


def _compiled(text: str) -> list[str]:
    """Return the names of a compilation database's files; any other text as the only name."""
    if not text.endswith(DATABASE) or not Path(text).is_file():
        return [text]
    names = [f"{text}:{name}" for name in _commands(Path(text))]
    if not names:
        raise InputError(f"{text}: there is no C or C++ file in this database")
    return names


def left_out(text: str) -> list[str]:
    """Return the files of a compilation database that are not programs, each with the reason."""
    if not text.endswith(DATABASE) or not Path(text).is_file():
        return []
    return [f"{name}: {why}" for name, why in read_left_out(Path(text))]


def _commands(database: Path) -> dict[str, Command]:
    status = database.stat()
    return _read_commands(database, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4)
def _read_commands(database: Path, time_ns: int, size: int) -> dict[str, Command]:
    return {command.name: command for command in read_compile_commands(database)}


def _before_name(text: str) -> str:
    """Return the part of a reference before the name; FOLDER in corpus@FOLDER:NAME may contain a ':'."""
    if found := database_of(text):
        return text[: -len(found[1])]
    if not text.startswith("corpus@"):
        return text.partition(":")[0] + ":"
    cuts = [number for number, letter in enumerate(text) if letter == ":"]
    folders = [cut for cut in cuts if Path(text[len("corpus@") : cut]).expanduser().is_dir()]
    return text[: (folders or cuts)[0] + 1]


def name_in(text: str) -> str:
    """Return the name in a reference, which follows the kind: split, package, program or seeds."""
    return text[len(_before_name(text)) :]


def _of_corpus(corpus: Corpus, name: str) -> Sequence[Program]:
    if not name:
        return corpus
    if any(letter in name for letter in "*?["):
        found = corpus.where(lambda row: fnmatch.fnmatchcase(row.name, name))
        if len(found):
            return found
    elif "/" not in name:
        return corpus.part(name)
    return [corpus.find(name)]


def _public() -> Corpus:
    return open_corpus(default_folder())


def _of_suite(kind: str, name: str, level: str) -> Sequence[Program]:
    load: Callable[[str], Program]
    if kind == "kernels":
        from burnish.llvm.corpora.kernels import kernel_names, load_kernel

        names, load = kernel_names(), functools.partial(load_kernel, level=level)
    else:
        from burnish.llvm.corpora.workloads import load_workload, workload_names

        names, load = workload_names(), functools.partial(load_workload, level=level)
    pattern, at, sizes = name.partition("@")  # sizes of inputs may follow
    found = fnmatch.filter(names, pattern)
    if not found:
        raise UnknownName.among(kind.removesuffix("s"), pattern, names)
    return Programs([f"{one}{at}{sizes}" for one in found], load)


def _random(text: str, name: str) -> Sequence[Program]:
    found = SEEDS.fullmatch(name)
    if not found:
        raise InputError(f"{text}: expected a seed, such as random:7, or seeds, such as random:0..99")
    first, last = int(found[1]), int(found[2] or found[1])
    size = int(found[3] or SIZE)
    if last < first:
        raise InputError(f"{text}: expected seeds from the smaller to the larger, not from {first} to {last}")
    return Programs([f"{seed}:{size}" for seed in range(first, last + 1)], _random_of)


def _random_of(name: str) -> Program:
    seed, size = map(int, name.split(":"))
    return random_module(seed, size)


def _file(text: str) -> Path:
    path = Path(text)
    if not path.exists() and "/" not in text and not path.suffix and ":" in text:
        raise UnknownName.among("kind of program", text.partition(":")[0], KINDS)
    return path
