"""Projects, with files, programs, runs and tests: Debian's, and the packages of burnish.llvm.corpora."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnish.core.errors import InputError, UnknownName
from burnish.llvm.corpora import fetch, find_package
from burnish.llvm.corpora.workloads import FLAGS, find_recipe, workload_names
from burnish.llvm.toolchain import find_tool
from shipped.debian import Archive, fetch_archive, unpack

TABLE = Path(__file__).with_name("projects.toml")
WARNINGS = ("-w",)  # warnings about the projects are not of interest


@dataclass(frozen=True)
class Project:
    """A project with fetched sources, ready to compile."""

    name: str
    version: str
    sha256: str  # of its archive
    root: Path
    sources: tuple[Path, ...]  # linked into all of its programs
    programs: Mapping[str, tuple[Path, ...]]  # additional sources of each program
    helpers: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    language: str = "c"
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()  # shell commands; see projects.toml
    tests: tuple[str, ...] = ()
    configure: str = ""  # a shell command in a copy of the sources; "" for projects without a script
    inputs: Path | None = None  # None: the inputs that texts.py writes


def project_names() -> tuple[str, ...]:
    """Return the names of all projects: Debian's, then the workloads."""
    return (*_table(), *workload_names())


def load_project(name: str, directory: Path) -> Project:
    """Return a project, its sources fetched and prepared in a folder.

    Raises:
        UnknownName: there is no such project.
        InputError: its sources cannot be fetched or prepared, or do not match projects.toml.
    """
    if name in (table := _table()):
        return _of_debian(name, table[name], directory)
    if name in workload_names():
        return _of_workloads(name, directory)
    raise UnknownName.among("project", name, project_names())


def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def _of_debian(name: str, row: Mapping[str, Any], directory: Path) -> Project:
    archive = _archive(row, directory / "archives")
    prepared = hashlib.blake2b(
        repr((archive.sha256, row.get("files"), row.get("prepare"))).encode(), digest_size=4
    )
    root = directory / "sources" / f"{name}-{archive.version}-{prepared.hexdigest()}"
    if not (root / ".prepared").exists():
        if root.exists():  # an earlier run was interrupted
            raise InputError(f"{root}: begun and never finished; remove it")
        root.parent.mkdir(parents=True, exist_ok=True)
        unpack(archive, root)
        _prepare(name, row, root)
        (root / ".prepared").touch()
    programs = {program: _files(root, own) for program, own in row["programs"].items()}
    left_out = {root / path for path in row.get("omit", ())} | {
        path for own in programs.values() for path in own
    }
    return Project(
        name=name,
        version=archive.version,
        sha256=archive.sha256,
        root=root,
        sources=tuple(path for path in _files(root, row["sources"]) if path not in left_out),
        programs=programs,
        helpers={program: _files(root, own) for program, own in row.get("helpers", {}).items()},
        language=row.get("language", "c"),
        flags=(
            *WARNINGS,
            _named_from(root),
            *row.get("flags", ()),
            *(f"-I{root / folder}" for folder in row.get("include", ())),
        ),
        libraries=tuple(row.get("libraries", ())),
        runs=tuple(row["runs"]),
        tests=tuple(row.get("tests", ())),
        configure=row.get("configure", ""),
    )


def _archive(row: Mapping[str, Any], directory: Path) -> Archive:
    """Return the sources' archive: Debian's, or one that burnish.llvm.corpora pins."""
    if "sdist" not in row:
        return fetch_archive(row["package"], directory)
    package = find_package(row["sdist"])
    fetch(package, directory)
    return Archive(directory / package.sdist, package.version, package.sha256)


def _files(root: Path, patterns: Sequence[str]) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    for pattern in patterns:
        paths = sorted(root.glob(pattern))
        if not paths:
            raise InputError(
                f"{root / pattern}: no such file; is this the version that projects.toml is about?"
            )
        found |= dict.fromkeys(paths)
    return tuple(found)


def _prepare(name: str, row: Mapping[str, Any], root: Path) -> None:
    for path, text in row.get("files", {}).items():
        (root / path).write_text(text)
    if "prepare" in row:
        environment = os.environ | {"CC": str(find_tool("clang"))}
        done = subprocess.run(
            ["sh", "-ec", row["prepare"]],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-6:])
            raise InputError(f"{name}: its preparation fails in {root}; remove that folder:\n{last}")


def _named_from(root: Path) -> str:
    """Return the option for relative file names in assertions, so that the folder does not change sizes."""
    return f"-fmacro-prefix-map={root}/="


def _of_workloads(name: str, directory: Path) -> Project:
    recipe, package = find_recipe(name), find_package(name)
    root = fetch(package, directory / "archives").resolve()
    return Project(
        name=name,
        version=package.version,
        sha256=package.sha256,
        root=root,
        sources=tuple(root / path for path in recipe.find_sources(root)),
        programs={name: (recipe.folder / "driver.c",)},
        flags=(*FLAGS, _named_from(root), *recipe.flags, *recipe.include_flags(root)),
        libraries=recipe.libraries,
        # large inputs are left out: they take half a second and more at -O2
        runs=tuple(
            f"{{{name}}} {shlex.join(run.arguments)}"
            for run in recipe.runs
            if run.name in ("small", "medium")
        ),
        inputs=recipe.folder,
    )
