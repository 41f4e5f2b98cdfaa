"""Sources of LLVM modules: compiled files and folders, compilation databases, corpora, suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from burnish.core.program import Program, Workload
from burnish.core.program_source import Loaded, ProgramSource
from burnish.llvm.corpora.compile_commands import without_all_unknown
from burnish.llvm.corpora.kernels import PREFIX, load_kernel
from burnish.llvm.corpora.references import (
    command_of,
    database_of,
    expand,
    is_reference,
    is_runnable,
    left_out,
    name_in,
    resolve,
    resolve_one,
    with_version,
)
from burnish.llvm.programs import link_programs, load_program
from burnish.llvm.run.runs import read_run
from burnish.llvm.toolchain import C_SUFFIXES, CXX_SUFFIXES, IR_SUFFIXES, cxx_library_options


class ModuleSource(ProgramSource):
    """Programs before any pass: files, and all names of burnish.llvm.corpora.references."""

    kinds = "a file (.c .cc .cpp .ll .bc), a folder, compile_commands.json, or a name: corpus:brotli"

    def __init__(self, level: str) -> None:
        """Take the optimization level of clang's front end."""
        self.level = level

    def takes(self, text: str) -> bool:
        """See ProgramSource."""
        known = Path(text).suffix in C_SUFFIXES | CXX_SUFFIXES | IR_SUFFIXES
        return known or is_reference(text) or Path(text).is_dir() or text.endswith(".json")

    def expand(self, text: str) -> list[str]:
        """See ProgramSource."""
        return expand(text)

    def left_out(self, text: str) -> list[str]:
        """Return the left-out files of a compilation database, such as precompiled headers, with reasons."""
        return left_out(text)

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
        from_source = is_runnable(name) if is_reference(name) else Path(name).suffix not in IR_SUFFIXES
        if not (from_source or database_of(name)):
            return {}
        return {"O0": self._load(name, arguments, directory, "O0").program}

    def workload(self, name: str) -> Workload | None:
        """Return the workload of a program of a runnable suite, else None."""
        return self.load(name).program.workload if is_runnable(name) else None

    def with_inputs(self, program: Program, names: Sequence[str] | None = None) -> Program:
        """Return a kernel with inputs of the given sizes (None: all sizes), any other program unchanged."""
        if not program.name.startswith(PREFIX):
            return program
        kernel = load_kernel(program.name.removeprefix(PREFIX), names, level=self.level)
        return replace(program, workload=kernel.workload)

    def file(self, name: str) -> Path | None:
        """See ProgramSource; if a build compiles a file twice, the path for the second time has "@2"."""
        if command := command_of(name):
            file = super().file(str(command.directory / command.source))
            assert file
            _, at, number = name.rpartition("@")
            twice = at and number.isdigit() and file.name.partition("@")[0] == file.name
            return file.with_name(f"{file.stem}@{number}{file.suffix}") if twice else file
        return None if is_reference(name) else super().file(name)

    def stem(self, name: str) -> str:
        """See ProgramSource."""
        return name_in(name) if name.startswith("corpus") else name

    def project(self, name: str) -> str:
        """Return a corpus' package, or a build's or file's folder; other programs are their own project."""
        if found := database_of(name):
            return found[0].absolute().parent.name
        if not is_reference(name):
            return super().project(name)
        return name_in(name).partition("/" if name.startswith("corpus") else "@")[0]

    def pinned(self, text: str) -> str:
        """Return a split of the public corpus with its version; other texts unchanged."""
        return with_version(text)

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
        return replace(program, workload=Workload(tuple(map(read_run, runs)), link_arguments=link))

    def _load(self, name: str, arguments: Sequence[str], directory: Path | None, level: str) -> Loaded:
        if directory and not is_reference(name):
            program = load_program(name, arguments, level=level, directory=directory)
            return Loaded(program, tuple(arguments))
        command = command_of(name)
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
