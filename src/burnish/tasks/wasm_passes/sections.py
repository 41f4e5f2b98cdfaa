"""The binary form of a module: its sections, and the sizes of its functions' bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

HEADER = b"\0asm\x01\0\0\0"
NAMES = (
    "custom", "type", "import", "function", "table", "memory", "global",
    "export", "start", "element", "code", "data", "data-count", "tag",
)  # fmt: skip
"""The kinds of sections, by their numbers."""


FOR_TOOLS = ("target_features", "sourceMappingURL", "build_id")
FUNCTION_NAMES = 1  # the subsection of the name section
PAGE_BYTES = 1 << 16  # of memory


class Section(NamedTuple):
    """A section of a module."""

    kind: str  # one of NAMES
    name: str  # of a custom section; else ""
    first: int  # position in the file, in bytes
    begin: int  # position of the content, after the section's number and its size
    end: int

    @property
    def size(self) -> int:
        """Bytes in the file, the section's number and its size included."""
        return self.end - self.first


def number(content: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number; return it and the position after it.

    Raises:
        ValueError: the content ends within the number, or the number has more than five bytes.
    """
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(content):
            break
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError(f"no number ends at byte {at}")


def sections(content: bytes) -> Iterator[Section]:
    """Yield the sections of a module, in order.

    Raises:
        ValueError: the content is not that of a module.
    """
    if not content.startswith(HEADER):
        raise ValueError("no module begins like this")
    at = len(HEADER)
    while at < len(content):
        first = at
        size, begin = number(content, at + 1)
        at = begin + size
        if at > len(content) or content[first] >= len(NAMES):
            raise ValueError(f"the section at byte {first} is cut off, or of an unknown kind")
        name = ""
        if content[first] == 0:
            length, text = number(content, begin)
            name = content[text : text + length].decode(errors="replace")
        yield Section(NAMES[content[first]], name, first, begin, at)


def body_sizes(content: bytes) -> list[int]:
    """Return the bytes of each function's body in the code section, the number of its size included."""
    for section in sections(content):
        if section.kind == "code":
            count, at = number(content, section.begin)
            sizes = []
            for _ in range(count):
                size, begin = number(content, at)
                sizes.append(begin + size - at)
                at = begin + size
            return sizes
    return []


def memory_bytes(content: bytes) -> int:
    """Return the bytes of memory with which a module that has memory of its own begins.

    They hold its data, with zero-initialized data, and its stack; the rest of the last page is not used.
    """
    for section in sections(content):
        if section.kind == "memory":
            count, at = number(content, section.begin)
            pages, _ = number(content, at + 1) if count else (0, at)  # after the flags
            return pages * PAGE_BYTES
    return 0


def leb128(value: int) -> bytes:
    """Return an unsigned number in LEB128, in as few bytes as possible."""
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def for_passes(content: bytes) -> bytes:
    """Return a module with the names of its functions, but without other sections that are for tools.

    Passes do not update debug information, and a session stores the features.

    Raises:
        ValueError: the content is not that of a module.
    """
    kept = [HEADER]
    for section in sections(content):
        if section.name == "name":
            _, begin = number(content, section.begin)
            kept.append(_names_of_functions(content[begin + len("name") : section.end]))
        elif not section.name.startswith(".debug_") and section.name not in FOR_TOOLS:
            kept.append(content[section.first : section.end])
    return b"".join(kept)


def _names_of_functions(names: bytes) -> bytes:
    """Return a name section with a name section's names of functions."""
    at = 0
    while at < len(names):
        first = at
        size, begin = number(names, at + 1)
        at = begin + size
        if names[first] == FUNCTION_NAMES:
            inside = leb128(len("name")) + b"name" + names[first:at]
            return b"\0" + leb128(len(inside)) + inside
    return b""
