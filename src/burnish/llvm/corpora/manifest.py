"""The pinned packages of the public corpus: name, version, digest, licence and split."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

from burnish.core.errors import UnknownName

Split = Literal["train", "val", "test", "no"]
SPLITS = ("train", "val", "test")
"""The first of these keeps a repeated program, so that training data depend on no other split."""


@dataclass(frozen=True)
class Package:
    """One source distribution, pinned by the digest of its file, with its split and build settings."""

    name: str
    version: str
    sdist: str  # the file's name
    sha256: str
    size_bytes: int
    licence: str
    split: Split  # "no": pinned, but in none of the three splits
    files: int  # C and C++ files that were tried when the package was measured
    units: int  # the files of these that compiled
    sampled: bool = False  # `files` and `units` are extrapolated from a sample of the files
    defines: tuple[str, ...] = ()  # macros that the package's own build would set: NAME or NAME=value
    tables: tuple[str, ...] = ()  # prefixes of paths of files with megabytes of data and no code
    since: int = 1  # the first version of its split that has the package
    repeats: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Files left out because another split has the same program: path -> "PROGRAM in SPLIT".

    The manifest lists them, so that a split does not depend on which other packages are built.
    """

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@functools.cache
def load_manifest() -> tuple[Package, ...]:
    """Return every pinned package, by name."""
    text = (resources.files("burnish.llvm.corpora") / "data/packages.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["package"]
    lists = ("defines", "tables")
    return tuple(Package(**row | {name: tuple(row.get(name, ())) for name in lists}) for row in rows)


def split_version(split: str) -> int:
    """Return a split's version; it grows by 1 when packages are added, and packages are never removed."""
    return max((package.since for package in load_manifest() if package.split == split), default=1)


def packages_in(name: str) -> list[Package]:
    """Return the packages of a split or of one version of a split: "test", "test@1"."""
    split, at, version = name.partition("@")
    versions = [str(number + 1) for number in range(split_version(split))]
    if at and version not in versions:
        raise UnknownName.among(f"version of {split}", version, versions)
    packages = [package for package in load_manifest() if package.split == split]
    return [package for package in packages if not at or package.since <= int(version)]


def find_package(name: str) -> Package:
    """Return the package of that name."""
    packages = {package.name: package for package in load_manifest()}
    if name not in packages:
        raise UnknownName.among("package", name, packages)
    return packages[name]
