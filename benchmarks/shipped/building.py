"""Builds of a project by a compiler: its objects, then its programs, linked and stripped."""

from __future__ import annotations

import json
import re
import resource
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from burnish import _native
from burnish.core.errors import InputError
from shipped.compilers import ENVIRONMENT, SECTIONS, Compiler
from shipped.projects import Project


@dataclass(frozen=True)
class Built:
    """A project as one compiler built it."""

    folder: Path
    programs: dict[str, str]  # paths by name, including helpers
    objects: dict[str, int]  # loaded bytes of each object, by name; 0 for LTO's objects
    wall_seconds: float  # of compiling and linking with all jobs
    cpu_seconds: float


def build(project: Project, compiler: Compiler, folder: Path, *, tables: bool, jobs: int) -> Built:
    """Build a project into a folder, or return the existing build of the same recipe.

    Raises:
        InputError: the build fails; the message has the last lines of its output.
    """
    note = folder / "built.json"
    recipe = repr(
        (project.sha256, project.flags, project.sources, project.programs, project.helpers, compiler, tables)
    )
    if note.exists():
        kept = json.loads(note.read_text())
        if kept.pop("recipe") == recipe:
            return Built(**(kept | {"folder": Path(kept["folder"])}))
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "objects").mkdir(parents=True)
    made = _build(project, compiler, folder, tables, jobs)
    note.write_text(json.dumps(asdict(made) | {"folder": str(folder), "recipe": recipe}))
    return made


def _build(project: Project, compiler: Compiler, folder: Path, tables: bool, jobs: int) -> Built:
    own = {**project.programs, **project.helpers}
    sources = dict.fromkeys([*project.sources, *(path for paths in own.values() for path in paths)])
    objects = {source: folder / "objects" / object_name(source, project.root) for source in sources}
    driver = compiler.own_driver(project.language, folder)
    compiling = [*driver, *compiler.compile_flags(project.language, tables=tables), *project.flags, "-c"]
    start, before = time.perf_counter(), _cpu_seconds()
    # the largest first, because they take longest
    order = sorted(sources, key=lambda source: -source.stat().st_size)
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda source: run([*compiling, source, "-o", objects[source]], folder), order))
    programs = {}
    for name, paths in own.items():
        programs[name] = str(folder / name)
        linked = [objects[source] for source in (*paths, *project.sources)]
        options = compiler.link_flags(project.language)
        run([*driver, *options, "-o", programs[name], *linked, *project.libraries], folder)
    wall, cpu = time.perf_counter() - start, _cpu_seconds() - before
    sizes = {path.name: _loaded_bytes(path) for path in sorted(objects.values())}
    return Built(folder, programs, sizes, wall, cpu)


def configure_seconds(project: Project, compiler: Compiler) -> float:
    """Return the seconds of the project's own configure script with a compiler, in a copy of its sources.

    Raises:
        InputError: the script fails.
    """
    with tempfile.TemporaryDirectory(prefix="burnish-configure-") as scratch:
        words = compiler.own_driver("c", Path(scratch))
        copy = shutil.copytree(project.root, Path(scratch, "sources"), symlinks=True)
        flags = " ".join((*compiler.flags, *SECTIONS))
        start = time.perf_counter()
        run(["sh", "-c", f'CC="$1" CFLAGS="$2" {project.configure}', "sh", shlex.join(words), flags], copy)
        return time.perf_counter() - start


def run(command: Sequence[str | Path], directory: Path) -> str:
    """Run a command and return its output.

    Raises:
        InputError: the command fails.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise InputError(
            f"{' '.join(words[:2])} ... {' '.join(words[-3:])} fails with {done.returncode}:\n{last}"
        )
    return done.stdout


def object_name(source: Path, root: Path) -> str:
    """Return the name of a source's object file."""
    inside = source.relative_to(root) if source.is_relative_to(root) else Path(source.name)
    return re.sub(r"[^\w.+-]", "_", str(inside)) + ".o"


def _loaded_bytes(path: Path) -> int:
    content = path.read_bytes()
    return int(_native.object_sizes(content).loaded_bytes) if content[:4] == b"\x7fELF" else 0


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
