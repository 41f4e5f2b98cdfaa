"""Where the objects go: the tree of the inputs is kept, and nothing is written over anything else."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from burnish.core.errors import InputError
from burnish.corpora.references import command_of, database_of, expand, is_reference, name_in

SUFFIXES = (".o", ".bc", ".ll")


def outputs_of(given: Sequence[str], names: Sequence[str], output: Path | None) -> list[Path]:
    """Return the path of each program's output.

    One file goes where `output` says, or to its own name here. Several keep their tree, which begins at the
    innermost folder that holds all that was given.

    Args:
        given: What the user named: files, folders, compilation databases, and names of corpora's programs.
        names: The single programs that this stands for.
        output: A file, for one program; else the folder of the tree; by default the current one.

    Raises:
        InputError: two outputs would be one file, or an output would be an input; the output is of no known
            kind, or its folder is not there.
    """
    folder = None if output and _is_file(output, given, names) else output or Path()
    if folder is None:
        assert output
        check_file(output, names)
        paths = [output]
    else:
        if not folder.is_dir() and (folder.exists() or folder.suffix in SUFFIXES):
            raise InputError(f"{folder}: expected a folder, for {len(names)} files")
        root = _root(given)
        paths = [folder / _below(name, root) for name in names]
    _check_apart(names, paths, names)
    if folder:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot make this folder: {error.strerror}") from None
    return paths


def make_folders(output: Path, top: Path) -> None:
    """Make the folders of a tree's output below its top, which has to be there: who removes it, means it.

    Raises:
        InputError: they cannot be made.
    """
    for folder in reversed(output.relative_to(top).parents):
        if folder != Path():
            try:
                (top / folder).mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(f"{top / folder}: cannot write there: {error.strerror}") from None


def _is_file(output: Path, given: Sequence[str], names: Sequence[str]) -> bool:
    alone = len(names) == 1 and list(given) == list(names)
    return alone and not output.is_dir()


def check_file(output: Path, names: Sequence[str]) -> None:
    """Check that a file can be an output.

    Raises:
        InputError: it is of no known kind, its folder is not there, or it is an input.
    """
    if output.suffix not in SUFFIXES:
        raise InputError(f"{output}: expected a name that ends in .o, .bc or .ll, or a folder")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.absolute().parent}")
    _check_apart(names[:1], [output], names)


def _root(given: Sequence[str]) -> Path:
    """Return the innermost folder that holds all files, folders and databases' files that were given."""
    folders = []
    for text in given:
        if Path(text).is_dir():
            folders.append(_absolute(text))
        elif not is_reference(text) or database_of(text):
            folders += [file.parent for name in expand(text) if (file := _file_of(name))]
    return Path(os.path.commonpath(folders)) if folders else Path()


def _file_of(name: str) -> Path | None:
    """Return the absolute path of a program's file; None for a name of a corpus and the like."""
    if command := command_of(name):
        file = _absolute(command.directory / command.source)
        _, at, number = name.rpartition("@")  # the same file compiled in another way
        twice = at and number.isdigit() and file.name.partition("@")[0] == file.name
        return file.with_name(f"{file.stem}@{number}{file.suffix}") if twice else file
    return None if is_reference(name) else _absolute(name)


def _below(name: str, root: Path) -> Path:
    if file := _file_of(name):
        return file.relative_to(root).with_suffix(".o")
    name = name_in(name) if name.startswith("corpus") else name
    return Path(re.sub(r"[^\w.+-]+", "-", name) + ".o")


def _check_apart(names: Sequence[str], paths: Sequence[Path], read: Sequence[str]) -> None:
    inputs = {_absolute(name): name for name in read if not is_reference(name)}
    seen: dict[Path, str] = {}
    for name, path in zip(names, paths, strict=True):
        place = _absolute(path)
        if place in inputs:
            raise InputError(f"{path}: the output of {name} would overwrite the input {inputs[place]}")
        if place in seen:
            raise InputError(
                f"{seen[place]} and {name} would both be written to {path}; nothing was done: optimize them "
                "one by one, each with an output of its own (-o)"
            )
        seen[place] = name


def _absolute(path: Path | str) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - without a look at links
