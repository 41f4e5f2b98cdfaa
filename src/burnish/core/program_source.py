"""Where a task's programs come from: files, folders and whatever else has a name."""

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
    """A program as it was read, and what was said on the way."""

    program: Program
    arguments: tuple[str, ...] = ()  # all that its compiler was told, a build's own first


@dataclass(frozen=True)
class Programs(Sequence[Program]):
    """Programs that are made when they are asked for."""

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
    """How a task's programs are named and loaded.

    What a user writes may stand for many programs: a folder, a part of a corpus. A name stands for one.
    `arguments` are those that follow a double dash on the command line: the compiler's own.
    """

    kinds = "a file"  # what a user may write, for --help

    @abstractmethod
    def takes(self, text: str) -> bool:
        """Say whether this is the form of what stands for programs of the task; they need not be there."""

    @abstractmethod
    def expand(self, text: str) -> list[str]:
        """Return the names of the programs that a text stands for.

        Raises:
            InputError: there are none; UnknownName says what is near.
        """

    def left_out(self, text: str) -> list[str]:
        """Return what of a text `expand` leaves out though it looks like programs, each with the reason."""
        return []

    @abstractmethod
    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """Read one program.

        Args:
            name: From `expand`.
            arguments: The compiler's own.
            directory: Where relative paths begin; the current folder by default.

        Raises:
            InputError: it is not there, or cannot be used.
        """

    def open(self, text: str) -> Sequence[Program]:
        """Return the programs that a text stands for; of many, each is read when it is asked for.

        Raises:
            InputError: see `expand` and `load`.
        """
        names = self.expand(text)
        if names == [text]:
            return [self.load(text).program]
        return Programs(names, self._program)

    def _program(self, name: str) -> Program:
        return self.load(name).program

    def variants(
        self, name: str, arguments: Sequence[str] = (), directory: Path | None = None
    ) -> dict[str, Program]:
        """Return, by baseline, the program where the front end makes another one for it; see `load`."""
        return {}

    def workload(self, name: str) -> Workload | None:
        """Return how a program is run that brings that along, though its content may be read elsewhere."""
        return None

    def with_inputs(self, program: Program, names: Sequence[str] | None = None) -> Program:
        """Return a program that brings inputs along with some of them, or for None with all; others as is."""
        return program

    def file(self, name: str) -> Path | None:
        """Return the path of a program's file; None where it is not a file that a user has."""
        return Path(os.path.abspath(name))  # noqa: PTH100 - without a look at links

    def stem(self, name: str) -> str:
        """Return what a file that is written for a program without a file of its own is called."""
        return name

    def project(self, name: str) -> str:
        """Return what a program is a part of: intervals are also drawn over whole projects."""
        return Path(name).absolute().parent.name

    def pinned(self, text: str) -> str:
        """Return a text that stands for the same programs for good, where this one may come to mean more."""
        return text

    def link(self, programs: Sequence[Program]) -> Program:
        """Make one program of several.

        Raises:
            InputError: that cannot be.
        """
        raise InputError(f"{len(programs)} programs: this task cannot link them into one")

    def with_runs(
        self, program: Program, runs: Sequence[str], names: Sequence[str], arguments: Sequence[str]
    ) -> Program:
        """Return a program with the inputs that a user named with --run.

        Args:
            program: The program, made of `names` with `arguments`.
            runs: How it is run each time: arguments, and perhaps '< FILE'.
            names: What it was made of.
            arguments: The compiler's own.

        Raises:
            InputError: programs of this task are not run so.
        """
        if runs:
            raise InputError(f"--run {runs[0]!r}: programs of this task are not run with arguments")
        return program


class FileSource(ProgramSource):
    """Files of some kinds, as they are, and folders of such files."""

    def __init__(self, language: str, suffixes: Sequence[str]) -> None:
        """Take what the files are written in, and how their names end: '.toml'."""
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
        """See ProgramSource; there is no compiler to take arguments."""
        if arguments:
            raise InputError(f"{name}: {arguments[0]!r}: files of this task are read as they are")
        if Path(name).suffix not in self.suffixes:
            raise InputError(f"{name}: expected {self.kinds}")
        try:
            return Loaded(Program(name, self.language, (directory or Path()).joinpath(name).read_bytes()))
        except OSError as error:
            raise InputError(f"{name}: {error.strerror}") from None
