"""The members of static libraries: the common format of ar, with GNU's and BSD's long names."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from burnish.cc.link.elf import symbols

MAGIC = b"!<arch>\n"
_HEADER = 60  # name 16, date 12, owner 6, group 6, mode 8, size 10, end 2
_SYMBOLS = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")


@dataclass(frozen=True)
class Member:
    """A file in an archive."""

    name: str
    start: int  # in the archive
    content: bytes


def members(archive: bytes) -> Iterator[Member]:
    """Give the files of an archive, in order; none of a thin one, whose files are elsewhere.

    Raises:
        ValueError: it is cut off, or no archive.
    """
    at, long_names = len(MAGIC), b""
    while archive.startswith(MAGIC) and at + _HEADER <= len(archive):
        header = archive[at : at + _HEADER]
        if header[58:60] != b"`\n":
            raise ValueError("not a whole archive")
        size, start = int(header[48:58]), at + _HEADER
        name, content = header[:16].rstrip(), archive[start : start + size]
        if name == b"//":
            long_names = content
        elif name not in _SYMBOLS:
            length = int(name[3:]) if name.startswith(b"#1/") else 0
            text = content[:length].rstrip(b"\0") if length else _name(name, long_names)
            yield Member(text.decode(errors="replace"), start + length, content[length:])
        at = start + size + size % 2


def _name(name: bytes, long_names: bytes) -> bytes:
    if name.startswith(b"/") and name[1:].isdigit():
        return long_names[int(name[1:]) :].partition(b"\n")[0].rstrip(b"/")
    return name.rstrip(b"/")


def archive_of(files: Sequence[Member]) -> bytes:
    """Return an archive of ELF objects with its table of symbols, as System V's ar writes it."""
    bodies = [
        _padded(_header(f"{number}.o/", len(one.content)) + one.content) for number, one in enumerate(files)
    ]
    offered = [[one.name for one in symbols(member.content) if one.is_defined] for member in files]
    names = b"".join(name + b"\0" for member in offered for name in member)
    count = sum(map(len, offered))
    size = 4 + 4 * count + len(names)
    at = len(MAGIC) + _HEADER + size + size % 2
    offsets = []
    for member, body in zip(offered, bodies, strict=True):
        offsets += [at] * len(member)
        at += len(body)
    table = struct.pack(f">{count + 1}I", count, *offsets) + names
    return MAGIC + _padded(_header("/", size) + table) + b"".join(bodies)


def _header(name: str, size: int) -> bytes:
    return f"{name:16}{0:<12}{0:<6}{0:<6}{'644':8}{size:<10}`\n".encode()


def _padded(content: bytes) -> bytes:
    return content + b"\n" * (len(content) % 2)
