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
csmith:7  llvm-stress:0..99               random programs of installed generators
cbench-v1  cbench-v1/qsort@2              an imported dataset; a program of it, with another input
benchmark://cbench-v1/qsort               CompilerGym's names of datasets and generators (csmith-v0)
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
from burnish.core.program import Program, Workload
from burnish.core.program_source import Loaded, Programs, ProgramSource
from burnish.llvm.corpora.compile_commands import (
    Command,
    read_compile_commands,
    read_left_out,
    without_all_unknown,
)
from burnish.llvm.corpora.datasets.names import (
    canonical,
    dataset_names,
    dataset_programs,
    is_dataset_name,
    project_of,
    with_all_inputs,
)
from burnish.llvm.corpora.generators import STRESS_SIZE, csmith_program, stress_program
from burnish.llvm.corpora.kernels import PREFIX, kernels, load_kernel
from burnish.llvm.corpora.manifest import SPLITS, split_version
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.random_modules import SIZE, random_module
from burnish.llvm.corpora.splits import read_splits
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.corpora.workloads import load_workload, workloads
from burnish.llvm.programs import link_programs, load_program
from burnish.llvm.run.emulated import emulated
from burnish.llvm.run.running import read_run
from burnish.llvm.toolchain import C_SUFFIXES, CXX_SUFFIXES, IR_SUFFIXES, cxx_library_options

RUNNABLE = ("kernels", "workloads")
GENERATED = ("random", "csmith", "llvm-stress")
KINDS = ("corpus", *RUNNABLE, *GENERATED)
DATABASE = ".json"
SEEDS = re.compile(r"(\d+)(?:\.\.(\d+))?(?::(\d+))?")


class ModuleSource(ProgramSource):
    """Programs before any pass: files, and all names listed above."""

    kinds = "a file (.c .cc .cpp .ll .bc), a folder, compile_commands.json, or a name: corpus:brotli"

    def __init__(self, level: str) -> None:
        """Take the optimization level of clang's front end."""
        self.level = level

    def takes(self, text: str) -> bool:
        """See ProgramSource."""
        known = Path(text).suffix in C_SUFFIXES | CXX_SUFFIXES | IR_SUFFIXES
        return known or is_reference(text) or Path(text).is_dir() or text.endswith(DATABASE)

    def expand(self, text: str) -> list[str]:
        """See ProgramSource; `resolve_one` opens each name."""
        if not is_reference(text):
            return _files(text)
        if _database_of(text):
            return [text]
        if is_dataset_name(text):
            return dataset_names(text)
        text = canonical(text)
        programs, kind = resolve(text), text.partition(":")[0]
        if isinstance(programs, Corpus):
            return [f"{_before_name(text)}{row.name}" for row in programs.programs]
        if isinstance(programs, Programs):
            return [f"{kind}:{name}" for name in programs.names]
        return [text]

    def left_out(self, text: str) -> list[str]:
        """Return the left-out files of a compilation database, such as precompiled headers, with reasons."""
        if not text.endswith(DATABASE) or not Path(text).is_file():
            return []
        return [f"{name}: {why}" for name, why in read_left_out(Path(text))]

    def open(self, text: str) -> Sequence[Program]:
        """See ProgramSource; the result for a corpus is a Corpus."""
        return resolve(text, level=self.level)

    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """See ProgramSource."""
        return self._load(name, arguments, directory, self.level)

    def variants(
        self, name: str, arguments: Sequence[str] = (), directory: Path | None = None
    ) -> dict[str, Program]:
        """Return the front end's program at -O0; the other levels differ only in attributes."""
        from_source = _is_runnable(name) if is_reference(name) else Path(name).suffix not in IR_SUFFIXES
        if not (from_source or _database_of(name)):
            return {}
        return {"O0": self._load(name, arguments, directory, "O0").program}

    def workload(self, name: str) -> Workload | None:
        """Return the workload of a program of a runnable suite or a dataset, else None."""
        return self.load(name).program.workload if _is_runnable(name) or _is_dataset(name) else None

    def with_inputs(self, program: Program, names: Sequence[str] | None = None) -> Program:
        """Return a kernel or a dataset's program with the named inputs (None: all), any other unchanged."""
        if is_dataset_name(program.name):
            return with_all_inputs(program, names)
        if not program.name.startswith(PREFIX):
            return program
        kernel = load_kernel(program.name.removeprefix(PREFIX), names, level=self.level)
        return dataclasses.replace(program, workload=kernel.workload)

    def file(self, name: str) -> Path | None:
        """See ProgramSource; if a build compiles a file twice, the path for the second time has "@2"."""
        if command := _command_of(name):
            file = super().file(str(command.directory / command.source))
            assert file
            _, at, number = name.rpartition("@")
            twice = at and number.isdigit() and file.name.partition("@")[0] == file.name
            return file.with_name(f"{file.stem}@{number}{file.suffix}") if twice else file
        return None if is_reference(name) else super().file(name)

    def stem(self, name: str) -> str:
        """See ProgramSource."""
        return _name_in(name) if name.startswith("corpus") else name

    def project(self, name: str) -> str:
        """Return a corpus' package, or a build's or file's folder; other programs are their own project."""
        if found := _database_of(name):
            return found[0].absolute().parent.name
        if not is_reference(name):
            return super().project(name)
        if _is_dataset(name):
            return project_of(name)
        return _name_in(name).partition("/" if name.startswith("corpus") else "@")[0]

    def pinned(self, text: str) -> str:
        """Return a split of the public corpus with its current version; other texts unchanged.

        Without the version, results that were reported for a name no longer match it when the split grows.
        """
        split = text.removeprefix("corpus:")
        public = is_reference(text) and text.startswith("corpus:") and split in SPLITS
        if not public or read_splits(default_folder()):  # a user's own splits have no versions
            return text
        return f"{text}@{split_version(split)}"

    def link(self, programs: Sequence[Program]) -> Program:
        """See ProgramSource; if one defines `main`, all other symbols become internal."""
        return link_programs(programs)

    def with_runs(
        self, program: Program, runs: Sequence[str], names: Sequence[str], arguments: Sequence[str]
    ) -> Program:
        """See ProgramSource; links the C++ libraries if needed, with the linker's options in `arguments`."""
        if not runs:
            return program
        cxx = any(Path(name).suffix in CXX_SUFFIXES for name in names)
        options = ("--driver-mode=g++", *cxx_library_options(tuple(arguments))) if cxx else ()
        link = (*options, *_for_the_linker(arguments))
        workload = Workload(tuple(map(read_run, runs)), link_arguments=link)
        if way := emulated(arguments):
            workload = dataclasses.replace(workload, linker=way.linker, emulator=way.emulator)
        return dataclasses.replace(program, workload=workload)

    def _load(self, name: str, arguments: Sequence[str], directory: Path | None, level: str) -> Loaded:
        if directory and not is_reference(name):
            program = load_program(name, arguments, level=level, directory=directory)
            return Loaded(program, tuple(arguments))
        command = _command_of(name)
        own = without_all_unknown(command) if command else ()
        return Loaded(resolve_one(name, arguments, level=level), (*own, *arguments))


def _for_the_linker(arguments: Sequence[str]) -> list[str]:
    """Return the options for the linker, with absolute paths, because it runs in another folder."""
    kept = []
    for word in arguments:
        if word.startswith("-L"):
            kept.append(f"-L{Path(word[2:]).absolute()}")
        elif word.startswith(("-l", "-Wl,", "-pthread", "-fopenmp")):
            kept.append(word)
    return kept


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
        names = _files(text)
        return Programs(names, load) if names != [text] else [load(text)]
    if _database_of(text):
        return [load(text)]
    if is_dataset_name(text):
        return dataset_programs(text)
    text = canonical(text)
    kind, name = _before_name(text)[:-1], _name_in(text)
    if kind == "corpus":
        return _of_corpus(open_corpus(default_folder()), name)
    if kind.startswith("corpus@"):
        return _of_corpus(open_corpus(Path(kind.removeprefix("corpus@")).expanduser()), name)
    if kind in GENERATED:
        return _generated(text, kind, name, level)
    return _of_suite(kind, name, level)


def resolve_one(text: str, arguments: Sequence[str] = (), *, level: str = "Oz") -> Program:
    """Return the one program that a name stands for."""
    programs = resolve(text, arguments, level=level)
    if len(programs) != 1:
        raise InputError(f"{text}: {len(programs)} programs, expected one; the first is {programs[0].name}")
    return programs[0]


def is_reference(text: str) -> bool:
    """Return whether a text is a name as listed above, and not an existing file."""
    if _is_dataset(text) or _database_of(text) is not None:
        return True
    kind = re.split("[:@]", canonical(text), maxsplit=1)[0]
    return kind in KINDS and ":" in canonical(text) and not Path(text).exists()


def _is_dataset(text: str) -> bool:
    """Return whether a text names a dataset's program, in burnish's form or CompilerGym's."""
    return is_dataset_name(text) and not Path(text).exists()


def _is_runnable(text: str) -> bool:
    """Return whether a text names kernels, workloads or Csmith's programs, compiled when opened."""
    return is_reference(text) and canonical(text).partition(":")[0] in (*RUNNABLE, "csmith")


def _database_of(text: str) -> tuple[Path, str] | None:
    """Return the compilation database and the file's name in it, if a text names such a file, else None."""
    path, colon, name = text.rpartition(DATABASE + ":")
    found = Path(f"{path}{DATABASE}")
    return (found, name) if colon and name and not Path(text).exists() and found.is_file() else None


def _command_of(text: str) -> Command | None:
    """Return a build's command for a file, if a text names a file of a compilation database, else None."""
    if not (found := _database_of(text)):
        return None
    database, name = found
    commands = _commands(database)
    if name not in commands:
        raise UnknownName.among(f"file in {database}", name, commands)
    return commands[name]


def _commands(database: Path) -> dict[str, Command]:
    status = database.stat()
    return _read_commands(database, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4)
def _read_commands(database: Path, time_ns: int, size: int) -> dict[str, Command]:
    return {command.name: command for command in read_compile_commands(database)}


def _load(text: str, arguments: tuple[str, ...], level: str) -> Program:
    """Open a file, or a file of a compilation database."""
    if command := _command_of(text):
        options = (*without_all_unknown(command), *arguments)
        program = load_program(command.source, options, level=level, directory=command.directory)
        return dataclasses.replace(program, name=text)
    path = Path(text)
    if not path.exists() and "/" not in text and not path.suffix and ":" in text:
        raise UnknownName.among("kind of program", text.partition(":")[0], KINDS)
    return load_program(path, arguments, level=level)


def _files(text: str) -> list[str]:
    """Return the files of a folder, except in hidden folders, or of a database; any other text alone."""
    if Path(text).is_dir():
        found = []
        for root, folders, names in os.walk(Path(text)):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            wanted = [name for name in sorted(names) if Path(name).suffix in C_SUFFIXES | CXX_SUFFIXES]
            found += [str(Path(root, name)) for name in wanted]
        if not found:
            raise InputError(f"{Path(text)}: there is no C or C++ file (.c .cc .cpp .cxx) below this folder")
        return found
    if not text.endswith(DATABASE) or not Path(text).is_file():
        return [text]
    found = [f"{text}:{name}" for name in _commands(Path(text))]
    if not found:
        raise InputError(f"{text}: there is no C or C++ file in this database")
    return found


def _before_name(text: str) -> str:
    """Return the part of a reference before the name; FOLDER in corpus@FOLDER:NAME may contain a ':'."""
    if found := _database_of(text):
        return text[: -len(found[1])]
    if not text.startswith("corpus@"):
        return text.partition(":")[0] + ":"
    cuts = [number for number, letter in enumerate(text) if letter == ":"]
    folders = [cut for cut in cuts if Path(text[len("corpus@") : cut]).expanduser().is_dir()]
    return text[: (folders or cuts)[0] + 1]


def _name_in(text: str) -> str:
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


def _of_suite(kind: str, name: str, level: str) -> Sequence[Program]:
    programs = kernels() if kind == "kernels" else workloads()
    load: Callable[..., Program] = load_kernel if kind == "kernels" else load_workload
    pattern, at, sizes = name.partition("@")  # sizes of inputs may follow
    names = [program.name for program in programs]
    found = fnmatch.filter(names, pattern)
    if not found:
        raise UnknownName.among(kind.removesuffix("s"), pattern, names)
    return Programs([f"{one}{at}{sizes}" for one in found], functools.partial(load, level=level))


def _generated(text: str, kind: str, name: str, level: str) -> Sequence[Program]:
    found = SEEDS.fullmatch(name)
    if not found:
        raise InputError(f"{text}: expected a seed, such as {kind}:7, or seeds, such as {kind}:0..99")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise InputError(f"{text}: expected seeds from the smaller to the larger, not from {first} to {last}")
    if found[3] and kind == "csmith":
        raise InputError(f"{text}: Csmith takes no size; expected {kind}:{found[1]}")
    size = f":{found[3] or SIZE}" if kind == "random" else f":{found[3]}" if found[3] else ""
    load = functools.partial(_generate, kind, level)
    return Programs([f"{seed}{size}" for seed in range(first, last + 1)], load)


def _generate(kind: str, level: str, name: str) -> Program:
    seed, _, size = name.partition(":")
    if kind == "csmith":
        return csmith_program(int(seed), level=level)
    if kind == "llvm-stress":
        return stress_program(int(seed), int(size or STRESS_SIZE))
    return random_module(int(seed), int(size))
