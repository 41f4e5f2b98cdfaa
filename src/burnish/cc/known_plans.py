"""The plans of earlier builds: an equal command in equal surroundings has the same jobs.

`clang -###` takes a twentieth of the time for a changed file. The memory has the job of the command's last
object, and a digest of what else clang's driver read for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from burnish.cc.command_key import Key, digest
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.kept import ObjectMemory

# Variables that differ between the commands of one build; clang does not read them.
_IGNORED = frozenset(
    {"_", "SHLVL", "OLDPWD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKE_TERMOUT", "MAKE_TERMERR"}
)
_FOLDERS = frozenset({"-resource-dir", "-internal-isystem", "-internal-externc-isystem"})  # that clang found


def known_plan(memory: ObjectMemory, clang: Path, key: Key, source: str) -> ClangJobs | None:
    """Return the plan for a command that compiles one file; None if the memory does not have it any more.

    Args:
        memory: Of earlier builds.
        clang: Its path.
        key: Of the command.
        source: The file that the command names.
    """
    last = memory.latest(key.for_source(source).name, str(Path.cwd()))
    if not last or last.is_gnu or last.arguments != key.arguments or not last.surroundings:
        return None
    plan = ClangJobs((ClangJob(last.command),), last.compiler.removeprefix("clang "), last.target)
    same = os.path.realpath(clang) == os.path.realpath(last.command[0])
    return plan if same and surroundings_of(plan, key.arguments) == last.surroundings else None


def surroundings_of(plan: ClangJobs, arguments: Sequence[str]) -> str:
    """Return a digest of what the driver read for a plan; "" if more matters than this function reads.

    It has the variables, clang's program and the folders of headers that clang found. Their parents show
    whether another GCC was installed.
    """
    if len(plan.jobs) != 1 or plan.gnu or plan.warnings:
        return ""
    if any(word.startswith("@") or word.endswith("=native") for word in arguments):
        return ""
    command = plan.jobs[0].command
    if any(word.startswith("-include") for word in command):  # the driver looks for a precompiled header
        return ""
    variables = sorted((name, value) for name, value in os.environ.items() if name not in _IGNORED)
    paths = dict.fromkeys(_read_by_driver(command))
    return digest(repr((variables, [(str(path), _changed(path)) for path in paths])).encode())


def _read_by_driver(command: Sequence[str]) -> Iterator[Path]:
    program = Path(command[0])
    yield from (program, program.parent)
    for option, value in pairwise(command):
        if option in _FOLDERS:
            before, _, _ = value.partition("/..")  # .../gcc/TRIPLE/12/../../../../include/c++/12
            yield from (Path(value), Path(before), Path(before).parent)


def _changed(path: Path) -> tuple[int, int] | None:
    """Return the size and the time of the last change of a file or folder; None if it is missing."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
