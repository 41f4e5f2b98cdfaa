"""The plans of earlier builds: an equal command in equal surroundings has the same jobs.

`clang -###` takes a twentieth of the time for a changed file, and more of that for a small one. The memory
has the job of the command's last object, and a digest of what else clang's driver read for it. A command for
another file has the same job with other names, if all its other words are equal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from burnish import __version__
from burnish.cc.command_key import Key, digest
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.kept import ObjectMemory

_NAMES = {
    "-o": "output",
    "-MF": "rule",
    "-MT": "target",
    "-MQ": "target",
}  # options before the name of a file
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


class Alike(NamedTuple):
    """The words of a command for one file without the names of its files, and these names."""

    words: tuple[str, ...]
    names: dict[str, str]

    @classmethod
    def of(cls, arguments: Sequence[str], source: str) -> Alike | None:
        """Return those of a command; None if it has other words with names, or may have several outputs."""
        words, names = [], {"source": source, "file": Path(source).name, "suffix": Path(source).suffix}
        rest = iter(arguments)
        for word in rest:
            what = _NAMES.get(word)
            if word.startswith(tuple(_NAMES)) and (not what or what in names):
                return None
            words.append(word if word != source else "source")
            if what:
                names[what] = next(rest, "")
        if "-c" in words:
            names.setdefault("output", f"{Path(source).stem}.o")  # as clang names it
        if "output" not in names or words.count("source") != 1:
            return None
        if "-MD" in words or "-MMD" in words:
            suffix = Path(names["output"]).suffix
            names.setdefault("rule", names["output"].removesuffix(suffix) + ".d")
        return cls(tuple(words), names)

    def key(self, clang: Path) -> str:
        """Return the key of a plan in the memory: two names that are equal here are equal there, too."""
        names = list(self.names.values())
        equal = [names.index(name) for name in names]
        # clang and clang++ may be one program, and read a file's suffix in different ways
        where = str(clang), os.path.realpath(clang), str(Path.cwd()), self.names["suffix"]
        return digest(repr((__version__, where, self.words, list(self.names), equal)).encode())

    def without_names(self, command: Sequence[str]) -> list[str] | None:
        """Return a job with "{source}" for the source, and so on; None if other words depend on the names."""
        marks = {name: f"{{{what}}}" for what, name in reversed(self.names.items()) if what != "suffix"}
        found = [marks.get(word, word) for word in command]
        derived = (ClangJob(tuple(command)).value(option) for option in ("-dependency-file", "-MT"))
        if any(name is not None and name not in marks for name in derived):
            return None
        parts = (self.names["file"], self.names["output"])
        odd = any(word not in marks and any(part in word for part in parts) for word in command)
        return None if odd or any(mark in command for mark in marks.values()) else found

    def with_names(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the job for the names of this command."""
        marks = {f"{{{what}}}": name for what, name in self.names.items()}
        return tuple(marks.get(word, word) for word in words)


def plan_alike(memory: ObjectMemory, clang: Path, arguments: Sequence[str], source: str) -> ClangJobs | None:
    """Return the plan that clang made for the same command with another file; None if the memory lacks it."""
    alike = Alike.of(arguments, source)
    found = memory.plan(alike.key(clang)) if alike else None
    if not (alike and found):
        return None
    words, version, target, surroundings = found
    plan = ClangJobs((ClangJob(alike.with_names(words)),), version, target)
    return plan if surroundings_of(plan, arguments) == surroundings else None


def keep_alike(
    memory: ObjectMemory, clang: Path, arguments: Sequence[str], source: str, plan: ClangJobs
) -> None:
    """Store clang's plan for commands with other files."""
    alike, surroundings = Alike.of(arguments, source), surroundings_of(plan, arguments)
    if alike and surroundings and (words := alike.without_names(plan.jobs[0].command)):
        memory.keep_plan(alike.key(clang), (words, plan.version, plan.target, surroundings))


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
