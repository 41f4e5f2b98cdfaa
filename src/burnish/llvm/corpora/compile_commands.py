"""Reader of compile_commands.json: a project's compiler options, without those that only a build needs.

Precompiled headers are replaced by the headers that they were compiled from: clang rejects those of other
compilers, and including the header itself has the same effect.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from burnish.core.errors import InputError
from burnish.llvm.toolchain import C_SUFFIXES, CXX_SUFFIXES, find_tool

NAME = "compile_commands.json"

# Dropped options with a value in the next word; those in GLUED may have it in the same word.
TAKES_VALUE = frozenset({"-o", "-MF", "-MT", "-MQ", "-MJ", "--output", "-dependency-file"})
GLUED = ("-o", "-MF", "-MT", "-MQ", "-MJ")
# burnish itself chooses outputs, dependency files, levels, link-time optimization and debug information.
DROPPED = re.compile(
    r"-(c|S|E|M|MM|MD|MMD|MG|MP|MV|pipe|save-temps.*|O\w*|f(no-)?lto.*|g(?!cc-).*|flto|emit-llvm|Werror.*)$"
)
_Entry = tuple[str, str, tuple[str, ...]]  # directory, absolute file, options
MAKES_PCH = ("-emit-pch", "-emit-module", "--precompile")
PCH_SUFFIXES = (".pch", ".gch")
XCLANG = "-Xclang"
USES_PCH = "-include-pch"
INCLUDE = "-include"
UNKNOWN_ARGUMENT = re.compile(r"(?:unknown argument|unsupported option|unsupported argument)[^']*'([^']+)'")


@dataclass(frozen=True)
class Command:
    """One file and the options that compile it."""

    name: str  # the file, relative to the common folder of all files
    directory: Path
    source: str  # the file on clang's command line, relative to `directory` where possible
    arguments: tuple[str, ...]


def read_compile_commands(path: Path) -> list[Command]:
    """Return the C and C++ commands of a compilation database, each once, ordered by file.

    A file that is compiled in several ways has several commands: the second one's name is FILE@2.

    Raises:
        InputError: the file cannot be read, or is not a compilation database.
    """
    entries = [entry for entry in _entries(path) if not _why_not(entry)]
    return list(_named([(folder, file, without_pch(folder, words)) for folder, file, words in entries]))


def read_left_out(path: Path) -> list[tuple[str, str]]:
    """Return the C and C++ files of a compilation database that are not programs, each with the reason."""
    return [(file, why) for entry in _entries(path) for file in entry[1:2] if (why := _why_not(entry))]


def _entries(path: Path) -> list[_Entry]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        found = dict.fromkeys(_entry(entry, path.parent) for entry in entries)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not a compilation database ({type(error).__name__}: {error}); expected a list of "
            '{"directory": ..., "file": ..., "arguments": [...] or "command": "..."}'
        ) from None
    return [entry for entry in found if PurePath(entry[1]).suffix in C_SUFFIXES | CXX_SUFFIXES]


def _why_not(entry: _Entry) -> str:
    """Return the reason why an entry is not a program, or "" if it is one."""
    directory, _, options = entry
    if makes_pch(options):
        return "it makes a precompiled header, not an object"
    for is_pch, name in _includes(options):
        if is_pch and not _header_of(Path(directory, name)):
            return f"it begins with the precompiled header {name}, whose header is missing beside it"
    return ""


def _entry(entry: dict[str, Any], base: Path) -> _Entry:
    """Return an entry's directory, absolute file and options."""
    directory = os.path.normpath(base.absolute() / entry.get("directory", "."))
    words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
    file = os.path.normpath(Path(directory, entry["file"]))
    return directory, file, tuple(_options(words, directory, file))


def _options(words: Sequence[str], directory: str, file: str) -> Iterator[str]:
    """Yield the options without the compiler, the source file and dropped options."""
    rest = iter(words)
    for word in rest:  # skip the compiler, and launchers such as ccache before it
        if word.startswith("-"):
            rest = iter([word, *rest])
            break
    for word in rest:
        if word in TAKES_VALUE:
            next(rest, None)
        elif not (word.startswith(GLUED) or DROPPED.match(word) or _is_source(word, directory, file)):
            yield word


def _is_source(word: str, directory: str, file: str) -> bool:
    return word == "--" or (not word.startswith("-") and os.path.normpath(Path(directory, word)) == file)


def _named(entries: Sequence[tuple[str, str, tuple[str, ...]]]) -> Iterator[Command]:
    if not entries:
        return
    common = os.path.commonpath([Path(file).parent for _, file, _ in entries])
    seen: dict[str, int] = {}
    for directory, file, options in sorted(entries, key=lambda entry: (entry[1], entry[2], entry[0])):
        name = Path(os.path.relpath(file, common)).as_posix()
        seen[name] = seen.get(name, 0) + 1
        name = name if seen[name] == 1 else f"{name}@{seen[name]}"
        yield Command(name, Path(directory), os.path.relpath(file, directory), options)


def makes_pch(options: Sequence[str]) -> bool:
    """Return whether a command precompiles a header, by its action or (as in CMake) by its language."""
    languages = [after for word, after in itertools.pairwise(options) if word == "-x"]
    languages += [word[2:] for word in options if word.startswith("-x") and len(word) > 2]
    headers = any(language.endswith("-header") for language in languages[-1:])
    return headers or any(word in MAKES_PCH for word in options)


def _header_of(pch: Path) -> Path | None:
    """Return the header of a precompiled header, by convention beside it; None if it is not there."""
    header = pch.with_suffix("") if pch.suffix in PCH_SUFFIXES else None
    return header if header and header.is_file() else None


def without_pch(directory: str, options: Sequence[str]) -> tuple[str, ...]:
    """Return the options with precompiled headers replaced by their headers.

    For `-include NAME`, clang's driver takes NAME.pch if that exists. Passing the option by -Xclang makes
    clang read NAME itself.
    """
    words = list(options)
    result: list[str] = []
    given = {word for is_pch, word in _includes(options) if not is_pch}
    while words:
        word = words.pop(0)
        told = words[0] if word == XCLANG and words else word
        if told not in (USES_PCH, INCLUDE) or not words:
            result.append(word)
            continue
        if word == XCLANG:
            del words[:1]
        if words[:1] == [XCLANG]:
            del words[:1]
        name = words.pop(0) if words else ""
        header = _header_of(Path(directory, name)) if told == USES_PCH else None
        if told == USES_PCH and header is not None:
            name = name[: -len(Path(name).suffix)]
            if name in given or str(header) in given:
                continue
        elif not any(Path(directory, name + end).exists() for end in PCH_SUFFIXES) and word == INCLUDE:
            result += [INCLUDE, name]
            continue
        result += [XCLANG, INCLUDE, XCLANG, name]
    return tuple(result)


def _includes(options: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """Yield each file included before the source: true if it is precompiled, and its name."""
    words = [word for word in options if word != XCLANG]
    for word, after in itertools.pairwise(words):
        if word in (USES_PCH, INCLUDE):
            yield word == USES_PCH, after


def without_unknown(arguments: Sequence[str], error: str) -> tuple[str, ...] | None:
    """Return the options without the one that clang's error calls unknown; None for any other error."""
    found = UNKNOWN_ARGUMENT.search(error)
    if not found or found[1] not in arguments:
        return None
    return tuple(word for word in arguments if word != found[1])


@functools.lru_cache(maxsize=4096)
def without_all_unknown(command: Command) -> tuple[str, ...]:
    """Return a command's options without unknown ones, found by clang's dry run (-###)."""
    arguments = command.arguments
    language = "c" if PurePath(command.source).suffix in C_SUFFIXES else "c++"
    if not command.directory.is_dir():
        raise InputError(f"{command.directory}: no such folder")
    while True:
        words = [str(find_tool("clang")), "-###", *arguments, "-c", "-x", language, os.devnull]
        done = subprocess.run(words, cwd=command.directory, capture_output=True, text=True, check=False)
        fewer = without_unknown(arguments, done.stderr) if done.returncode else None
        if fewer is None:
            return arguments
        arguments = fewer
