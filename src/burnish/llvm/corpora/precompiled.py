"""Precompiled headers in a build's commands, replaced by the headers that they were compiled from.

clang rejects precompiled headers of other compilers; including the header itself has the same effect.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

MAKES = ("-emit-pch", "-emit-module", "--precompile")
SUFFIXES = (".pch", ".gch")
XCLANG = "-Xclang"
USES = "-include-pch"
INCLUDE = "-include"


def makes_pch(options: Sequence[str]) -> bool:
    """Return whether a command precompiles a header, by its action or (as in CMake) by its language."""
    languages = [after for word, after in itertools.pairwise(options) if word == "-x"]
    languages += [word[2:] for word in options if word.startswith("-x") and len(word) > 2]
    return any(word in MAKES for word in options) or any(one.endswith("-header") for one in languages[-1:])


def header_of(pch: Path) -> Path | None:
    """Return the header of a precompiled header, by convention beside it; None if it is not there."""
    header = pch.with_suffix("") if pch.suffix in SUFFIXES else None
    return header if header and header.is_file() else None


def pchs(options: Sequence[str]) -> list[str]:
    """Return the precompiled headers that a command names."""
    return [word for is_pch, word in _includes(options) if is_pch]


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
        if told not in (USES, INCLUDE) or not words:
            result.append(word)
            continue
        if word == XCLANG:
            del words[:1]
        if words[:1] == [XCLANG]:
            del words[:1]
        name = words.pop(0) if words else ""
        header = header_of(Path(directory, name)) if told == USES else None
        if told == USES and header is not None:
            name = name[: -len(Path(name).suffix)]
            if name in given or str(header) in given:
                continue
        elif not any(Path(directory, name + end).exists() for end in SUFFIXES) and word == INCLUDE:
            result += [INCLUDE, name]
            continue
        result += [XCLANG, INCLUDE, XCLANG, name]
    return tuple(result)


def _includes(options: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """Yield each file included before the source: true if it is precompiled, and its name."""
    words = [word for word in options if word != XCLANG]
    for word, after in itertools.pairwise(words):
        if word in (USES, INCLUDE):
            yield word == USES, after
