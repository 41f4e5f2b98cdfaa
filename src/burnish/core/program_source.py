"""Sources of a task's programs: files, folders and other names."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

from burnish.core.errors import InputError
from burnish.core.program import Program, Workload


@dataclass(frozen=True)
class Loaded:
    """A program as it was read, with its compiler's arguments."""

    program: Program
    arguments: tuple[str, ...] = ()  # all arguments of its compiler, those of the build first


@dataclass(frozen=True)
class Programs(Sequence[Program]):
    """Programs that are loaded on access."""

    names: Sequence[str]
    load: Callable[[str], Program] = field(repr=False)

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Program: ...
    @overload
    def __getitem__(self, index: slice) -> Programs: ...
    def __getitem__(self, index: int | slice) -> Program | Programs:
        if isinstance(index, slice):
            return Programs(self.names[index], self.load)
        return self.load(self.names[index])


class ProgramSource(ABC):
    """Naming and loading of a task's programs.

    A user's text may stand for many programs: a folder, a part of a corpus. A name stands for one program.
    `arguments` are the compiler's own: the words after a double dash on the command line.
    """

    kinds = "a file"  # the forms of a user's text, for --help

    @abstractmethod
    def takes(self, text: str) -> bool:
        """Return whether a text has the form of this task's programs; they need not exist."""

    @abstractmethod
    def expand(self, text: str) -> list[str]:
        """Return the names of the programs that a text stands for.

        Raises:
            InputError: there are no programs; its subclass UnknownName suggests near names.
        """

    def left_out(self, text: str) -> list[str]:
        """Return lookalikes of programs in a text that `expand` leaves out, each with the reason."""
        return []

    @abstractmethod
    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """Read one program, by a name from `expand`.

        `directory` is the base of relative paths; by default the current folder.

        Raises:
            InputError: the program does not exist, or cannot be used.
        """

    def open(self, text: str) -> Sequence[Program]:
        """Return the programs that a text stands for; if there are many, each is read on access."""
        names = self.expand(text)
        if names == [text]:
            return [self.load(text).program]
        return Programs(names, self._program)

    def _program(self, name: str) -> Program:
        return self.load(name).program

    def variants(
        self, name: str, arguments: Sequence[str] = (), directory: Path | None = None
    ) -> dict[str, Program]:
        """Return, by baseline, the programs for baselines whose front end makes another one; see `load`."""
        return {}

    def workload(self, name: str) -> Workload | None:
        """Return the workload that the source has for a name; needed if the content is read elsewhere."""
        return None

    def with_inputs(self, program: Program, names: Sequence[str] | None = None) -> Program:
        """Return a program with the named inputs of its source (None: all); unchanged without such inputs."""
        return program

    def file(self, name: str) -> Path | None:
        """Return the path of a program's file; None if it is not a user's file."""
        return Path(os.path.abspath(name))  # noqa: PTH100 - without a look at links

    def stem(self, name: str) -> str:
        """Return the stem of output files for a program without a file of its own."""
        return name

    def project(self, name: str) -> str:
        """Return a program's project; confidence intervals are also drawn over whole projects."""
        return Path(name).absolute().parent.name

    def pinned(self, text: str) -> str:
        """Return a text that always stands for the same programs; the given one may stand for more later."""
        return text

    def link(self, programs: Sequence[Program]) -> Program:
        """Link several programs into one, or raise InputError."""
        raise InputError(f"{len(programs)} programs: this task cannot link them into one")

    def with_runs(
        self, program: Program, runs: Sequence[str], names: Sequence[str], arguments: Sequence[str]
    ) -> Program:
        """Return a program with the inputs that a user named with --run.

        Args:
            program: The program, made of the sources `names` with the compiler's `arguments`.
            runs: The command line of each run: arguments, and perhaps '< FILE'.

        Raises:
            InputError: programs of this task do not run with arguments.
        """
        if runs:
            raise InputError(f"--run {runs[0]!r}: programs of this task are not run with arguments")
        return program


class FileSource(ProgramSource):
    """Files with certain suffixes, read as they are, and folders of such files."""

    def __init__(self, language: str, suffixes: Sequence[str]) -> None:
        """Set the language of the files and the suffixes of their names, such as '.toml'."""
        self.language = language
        self.suffixes = tuple(suffixes)
        self.kinds = f"a file ({' '.join(suffixes)}) or a folder of such files"

    def takes(self, text: str) -> bool:
        """See ProgramSource."""
        return Path(text).suffix in self.suffixes or Path(text).is_dir()

    def expand(self, text: str) -> list[str]:
        """See ProgramSource."""
        if not Path(text).is_dir():
            return [text]
        found = sorted(path for path in Path(text).rglob("*") if path.suffix in self.suffixes)
        if not found:
            raise InputError(f"{text}: there is no file {' '.join(self.suffixes)} below this folder")
        return list(map(str, found))

    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """See ProgramSource; no compiler reads the files, so arguments are an error."""
        if arguments:
            raise InputError(f"{name}: {arguments[0]!r}: files of this task take no compiler options")
        if Path(name).suffix not in self.suffixes:
            raise InputError(f"{name}: expected {self.kinds}")
        try:
            return Loaded(Program(name, self.language, (directory or Path()).joinpath(name).read_bytes()))
        except OSError as error:
            raise InputError(f"{name}: {error.strerror}") from None
