"""The table of datasets: how a folder of each looks, and how its programs are made and run."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

import msgspec

from burnish.core.errors import UnknownName


@dataclass(frozen=True)
class Layout:
    """A form in which users have a dataset's files. All paths and patterns are relative to the root."""

    kind: Literal["modules", "files", "folders", "own", "parquet"]
    """Programs: modules of LLVM; source files; folders of source files; as `corpus build --from`; Parquet."""
    where: tuple[str, ...] = ()  # patterns of the programs' files; a folder's program has one such file in it
    marker: str = ""  # a path that only the root has; without it, the given folder is the root
    inside: str = ""  # a folder that may be between the given one and the root
    name: Literal["path", "folder"] = "path"
    """A program's name: its path without suffix, or the name of its folder."""
    mains: bool = False  # only files that define `main`; the other files are included by these
    linked: tuple[str, ...] = ()  # files that are linked to each program
    include: tuple[str, ...] = ()  # folders of headers
    flags: tuple[str, ...] = ()  # of clang
    language: Literal["", "c", "c++"] = ""  # of the files; "": by suffix
    prelude: str = ""  # text before each file's own
    replace: Mapping[str, str] = field(default_factory=dict, hash=False)  # in each file, by pattern


@dataclass(frozen=True)
class RunRule:
    """The commands that run a program. In one, `{FILE}` is an input file, and `#` stands for 1, 2, ..."""

    commands: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()  # files that the program writes; they are compared, too
    reference: str = ""  # suffix of the file beside the source with the expected output
    folders: tuple[str, ...] = ()  # the program's other names: the folders of its sources


@dataclass(frozen=True)
class Dataset:
    """A dataset of the literature, which users bring as files."""

    name: str
    version: str
    description: str
    licence: str
    obtain: str  # where the files are
    layouts: tuple[Layout, ...]
    evaluation: bool = False  # an evaluation suite: no program of it is ever in `train`
    runs: Mapping[str, RunRule] = field(default_factory=dict, hash=False)
    """By program; "*" is for all that are not named."""
    inputs: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Patterns of input files that have another name in one of the layouts, by their name in commands."""

    @property
    def id(self) -> str:
        """Return the name with the version, as in CompilerGym: cbench-v1."""
        return f"{self.name}-{self.version}"

    @property
    def split(self) -> str:
        """Return the split of all programs; `burnish corpus split` changes it, except to train."""
        return "test" if self.evaluation else "train"

    def rule(self, program: str) -> RunRule:
        """Return the rule of a program, which has no commands if the program cannot be run."""
        return self.runs.get(program) or self.runs.get("*") or RunRule()

    @functools.cached_property
    def other_names(self) -> dict[str, str]:
        """The programs' names, by the folders of their sources."""
        return {folder: name for name, rule in self.runs.items() for folder in rule.folders}


@functools.cache
def datasets() -> dict[str, Dataset]:
    """Return every dataset, by name."""
    path = resources.files("burnish.llvm.corpora.datasets") / "datasets.toml"
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: msgspec.convert({"name": name, **row}, Dataset) for name, row in rows.items()}


def find_dataset(name: str) -> Dataset:
    """Return the dataset of a name with or without version: cbench, cbench-v1.

    Raises:
        UnknownName: the dataset is unknown, or has another version.
    """
    known = datasets() | {dataset.id: dataset for dataset in datasets().values()}
    if name not in known:
        raise UnknownName.among("dataset", name, [dataset.id for dataset in datasets().values()])
    return known[name]
