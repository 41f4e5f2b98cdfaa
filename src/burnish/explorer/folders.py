"""Folders whose files may be read and written, and programs from such files."""

from __future__ import annotations

import math
import resource
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.program_source import ProgramSource
from burnish.workers.worker import Limits, Worker


class Folders:
    """Paths inside some folders. Links are followed before a path is judged."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Set the folders; a relative path begins in the first one.

        Raises:
            InputError: a folder does not exist.
        """
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"{folder}: expected an existing folder; make it, or give another --folder")
        self.folders = tuple(folder.resolve() for folder in folders)

    def inside(self, text: str) -> Path:
        """Return the real path of a text, which need not exist.

        Raises:
            InputError: the path is outside of the folders.
        """
        try:
            path = (self.folders[0] / text).resolve()
        except (
            OSError,
            ValueError,
            RuntimeError,
        ) as error:  # a null byte, a circle of links
            raise InputError(f"{text[:80]!r}: not a usable path: {error}") from None
        if not any(path.is_relative_to(folder) for folder in self.folders):
            allowed = ", ".join(map(str, self.folders))
            raise InputError(f"{text}: outside of the allowed folders; expected a path in {allowed}")
        return path

    def to_read(self, text: str) -> Path:
        """Return the path of an existing file, or raise InputError."""
        path = self.inside(text)
        if not path.is_file():
            raise InputError(f"{text}: expected an existing file; give a path in {self.folders[0]}")
        return path

    def to_write(self, text: str) -> Path:
        """Return the path of a new file in an existing folder, or raise InputError."""
        path = self.inside(text)
        if path.exists():
            raise InputError(f"{text}: this file exists and is kept; give another name")
        if not path.parent.is_dir():
            raise InputError(f"{text}: its folder does not exist; give a path in an existing folder")
        return path


def load(source: ProgramSource, file: Path, arguments: Sequence[str], limits: Limits) -> Program:
    """Read a program, with its compiler's arguments, in a process with limits.

    Raises:
        InputError: the file is not a program of this source.
        CompilerCrash: the front end crashes, or exceeds a limit.
    """
    with closing(Worker(limits)) as worker:
        named = limits.deadline_seconds, str(file), tuple(arguments)
        program: Program = worker.call(_load, source, *named)
        return program


def _load(source: ProgramSource, seconds: float, file: str, arguments: Sequence[str]) -> Program:
    # the front end is a process of its own, which lives on if this one is killed
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
    return source.load(file, arguments).program
