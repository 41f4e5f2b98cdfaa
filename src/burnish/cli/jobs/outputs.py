"""Paths of outputs: they keep the tree of the inputs, and never overwrite an input or each other.

Of files that a user did not name, only those that burnish wrote are overwritten; it records their digests.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.task import Task
from burnish.files import default_cache

MOST_BYTES = 1 << 20  # limit on the file of digests, 16,000 of them; above it, the newest half is kept
SHOWN = 5  # files that an error message names


class OutputPaths:
    """Paths of the files that a task writes."""

    def __init__(self, task: Task) -> None:
        self._source = task.source()
        self.suffixes = tuple(task.files.emitters)

    @property
    def default(self) -> str:
        """The suffix of an output if the user names none.

        Raises:
            InputError: the task writes no files.
        """
        if not self.suffixes:
            raise InputError("this task writes no files; take --json or --result")
        return self.suffixes[0]

    def of(self, given: Sequence[str], names: Sequence[str], output: Path | None) -> list[Path]:
        """Return the path of each program's output.

        One program is written to `output`, or to its own name in the current folder. Several programs keep
        their tree, which begins at the innermost folder that contains all given files and folders.

        Args:
            given: The user's words: files, folders, compilation databases, names of other programs.
            names: The single programs that `given` stands for.
            output: A file, for one program; otherwise the folder of the tree; None: the current folder.

        Raises:
            InputError: two outputs would be one file; an output would overwrite an input; the output has an
                unknown suffix; or its folder does not exist.
        """
        if output and len(names) == 1 and list(given) == list(names) and not output.is_dir():
            self.check_file(output, names)
            return [output]
        folder = output or Path()
        if not folder.is_dir() and (folder.exists() or folder.suffix in self.suffixes):
            raise InputError(f"{folder}: expected a folder, for {len(names)} files")
        root = self._root(given)
        paths = [folder / self._below(name, root) for name in names]
        self._check_apart(names, paths, names)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot make this folder: {error.strerror}") from None
        return paths

    def check_file(self, output: Path, names: Sequence[str]) -> None:
        """Check that a file can be an output.

        Raises:
            InputError: the file has an unknown suffix, its folder does not exist, or it is an input.
        """
        if not output.suffix and self.suffixes:
            raise InputError(
                f"{output}: the folder does not exist; make it first, or name a file: {output}{self.default}"
            )
        if output.suffix not in self.suffixes:
            *others, last = self.suffixes or (self.default,)
            known = f"{', '.join(others)} or {last}" if others else last
            raise InputError(f"{output}: expected a name that ends in {known}, or a folder")
        if not output.absolute().parent.is_dir():
            raise InputError(
                f"{output}: its folder does not exist; make it first: mkdir -p {output.absolute().parent}"
            )
        self._check_apart(names[:1], [output], names)

    def _root(self, given: Sequence[str]) -> Path:
        """Return the innermost folder with all given files and folders, and the files of given databases."""
        folders = []
        for text in given:
            if Path(text).is_dir():
                folders.append(_absolute(text))
            else:
                files = map(self._source.file, self._source.expand(text))
                folders += [file.parent for file in files if file]
        return Path(os.path.commonpath(folders)) if folders else Path()

    def _below(self, name: str, root: Path) -> Path:
        if file := self._source.file(name):
            return file.relative_to(root).with_suffix(self.default)
        return Path(re.sub(r"[^\w.+-]+", "-", self._source.stem(name)) + self.default)

    def _check_apart(self, names: Sequence[str], paths: Sequence[Path], read: Sequence[str]) -> None:
        inputs = {_absolute(name): name for name in read if self._source.file(name)}
        seen: dict[Path, str] = {}
        for name, path in zip(names, paths, strict=True):
            place = _absolute(path)
            if place in inputs:
                raise InputError(f"{path}: the output of {name} would overwrite the input {inputs[place]}")
            if place in seen:
                raise InputError(
                    f"{seen[place]} and {name} would both be written to {path}; nothing was done: optimize "
                    "them one by one, each with an output of its own (-o)"
                )
            seen[place] = name


def make_folders(output: Path, top: Path) -> None:
    """Make the folders of an output below the top of its tree.

    The top must exist: if it was removed since, that was on purpose.

    Raises:
        InputError: a folder cannot be made.
    """
    for folder in reversed(output.relative_to(top).parents):
        if folder != Path():
            try:
                (top / folder).mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(f"{top / folder}: cannot write there: {error.strerror}") from None


def note_written(content: bytes) -> None:
    """Record the digest of a written file; if that fails, the next run needs --force."""
    with contextlib.suppress(OSError):
        path = _digests()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MOST_BYTES:
            lines = path.read_text(encoding="ascii").splitlines(keepends=True)
            path.write_text("".join(lines[len(lines) // 2 :]), encoding="ascii")
        with path.open("a", encoding="ascii") as file:
            file.write(_digest(content) + "\n")


def check_not_in_the_way(paths: Sequence[Path]) -> None:
    """Check that no files exist at these paths except files that burnish wrote.

    Raises:
        InputError: there are other files; the message names them and the option --force.
    """
    present = [path for path in paths if path.exists()]
    if not present:
        return
    ours: set[str] = set()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        ours = set(_digests().read_text(encoding="ascii").split())
    others = [path for path in present if not _is_of(path, ours)]
    if others:
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        names = ", ".join(map(str, others[:SHOWN]))
        raise InputError(
            f"{names}{more}: burnish did not write {'this file' if len(others) == 1 else 'these files'}; "
            "nothing was done: write elsewhere with -o, or over what is there with --force"
        )


def _is_of(path: Path, digests: set[str]) -> bool:
    try:
        return _digest(path.read_bytes()) in digests
    except OSError:
        return False


def _digests() -> Path:
    return default_cache() / "written"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _absolute(path: Path | str) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - without a look at links
