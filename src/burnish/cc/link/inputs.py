"""Inputs of a link command that have units: objects, and archives of objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from burnish import _native
from burnish.cc.link.embedding import SECTION, Embedded, read_unit
from burnish.cc.requests import KeptReference

_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_ARCHIVE = b"!<arch>\n"


@dataclass(frozen=True)
class Member:
    """A file in an archive, or one by itself."""

    name: str
    start: int  # in the archive
    content: bytes


@dataclass(frozen=True)
class LinkedFile:
    """One input of a link command with the object of at least one unit."""

    index: int  # the position of its word in the command
    path: Path
    content: bytes
    parts: tuple[tuple[Member, Embedded | None], ...]  # an object has itself as its only part

    @property
    def is_archive(self) -> bool:
        """Return whether the linker takes only the parts that it needs."""
        return self.content.startswith(_ARCHIVE)

    def included(self) -> bytes:
        """Return the file's content, with its units marked so that a linker copies them to its output."""
        content = bytearray(self.content)
        for member, found in self.parts:
            if found:
                content[member.start + found.flags_at + 3] &= 0x7F  # SHF_EXCLUDE is bit 31
        return bytes(content)


@dataclass
class _Search:
    """A linker's search for -lNAME, with the state at that word (ld(1), -l, -L and -Bstatic)."""

    folders: list[str]
    static: bool = False
    stack: list[bool] = field(default_factory=list)

    def note(self, word: str) -> None:
        if word in ("-Bstatic", "-dn", "-non_shared", "-static"):
            self.static = True
        elif word in ("-Bdynamic", "-dy", "-call_shared"):
            self.static = False
        elif word == "--push-state":
            self.stack.append(self.static)
        elif word == "--pop-state" and self.stack:
            self.static = self.stack.pop()

    def find(self, name: str) -> Path | None:
        """Return the library that is found first if it is static; else None."""
        wanted = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
        for folder in self.folders:
            for file in wanted[1:] if self.static else wanted:
                path = Path(folder, file)
                if path.is_file():
                    return None if file.endswith(".so") else path
        return None


def linked_files(command: Sequence[str]) -> list[LinkedFile]:
    """Return the inputs that have units, in order.

    Raises:
        KeptReference: an input is for link-time optimization, or cannot be read.
    """
    found = []
    for index, path in _paths(command):
        try:
            content = path.read_bytes()
            if SECTION.encode() in content or content.startswith((*_BITCODE, _ARCHIVE)):
                file = LinkedFile(index, path, content, tuple(_parts(path, content)))
                if any(part for _, part in file.parts):
                    found.append(file)
        except (OSError, ValueError) as error:
            raise KeptReference(f"{path}: {error}") from None
    return found


def _paths(command: Sequence[str]) -> Iterator[tuple[int, Path]]:
    folders = [word[2:] for word in command if word.startswith("-L") and len(word) > 2]
    folders += [new for old, new in pairwise(command) if old in ("-L", "--library-path")]
    folders += [word.partition("=")[2] for word in command if word.startswith("--library-path=")]
    search = _Search(folders)
    for index, word in enumerate(command[1:], 1):
        search.note(word)
        if word.startswith(("-l", "--library=")) and len(word) > 2:
            path = search.find(word.partition("=")[2] if word.startswith("--library=") else word[2:])
            if path:
                yield index, path
        elif not word.startswith("-") and command[index - 1] != "-o" and Path(word).is_file():
            yield index, Path(word)


def _parts(path: Path, content: bytes) -> Iterator[tuple[Member, Embedded | None]]:
    parts = [Member(path.name, 0, content)]
    if content.startswith(_ARCHIVE):
        parts = [Member(*member) for member in _native.archive_members(content)]
    for part in parts:
        if part.content.startswith(_BITCODE):
            raise KeptReference(f"{path} is for clang's own link-time optimization")
        yield part, read_unit(part.content)
