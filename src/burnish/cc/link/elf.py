"""Sections and symbols of little-endian ELF files, and one more section in an object.

ELF specification, chapter 4; https://gabi.xinuos.com.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from burnish.cc.symbols import section_headers

_NOBITS, _SYMBOL_TABLE, _DYNAMIC_SYMBOLS, _RELOCATABLE = 8, 2, 11, 1
_ALLOC, EXCLUDE = 2, 0x80000000  # sh_flags
_LOCAL, WEAK = 0, 2  # bindings of symbols
# By EI_CLASS: a section header, where its flags are in it, a symbol, and where the file's header says where
# the section headers are, how many, and which one has their names.
_SECTION = {1: "<10I", 2: "<IIQQQQIIQQ"}
_FLAGS_AT = 8
_WORD = {1: "<I", 2: "<Q"}
_SYMBOL = {1: "<IIIBBH", 2: "<IBBHQQ"}
_SECTIONS_AT = {1: 0x20, 2: 0x28}
_COUNT_AT, _NAMES_AT = {1: 0x30, 2: 0x3C}, {1: 0x32, 2: 0x3E}
_RESERVED = 0xFF00  # section numbers from here on are no sections


@dataclass(frozen=True)
class ElfSection:
    """One section of a file."""

    name: bytes
    header: tuple[int, ...]  # as burnish.cc.symbols.section_headers gives it
    header_at: int  # where in the file
    content: bytes  # b"" where it has none in the file

    @property
    def is_loaded(self) -> bool:
        """Whether a program has it in memory."""
        return bool(self.header[2] & _ALLOC)


@dataclass(frozen=True, order=True)
class ElfSymbol:
    """One symbol that is not local."""

    name: bytes
    binding: int
    visibility: int
    is_defined: bool
    size: int


def is_elf(content: bytes) -> bool:
    """Say whether a file is a little-endian ELF file."""
    return content[:4] == b"\x7fELF" and content[4:6] in (b"\1\1", b"\2\1")


def is_object(content: bytes) -> bool:
    """Say whether a file is an object, and no program or library."""
    return is_elf(content) and content[16:18] == b"\1\0"


def sections(elf: bytes) -> list[ElfSection]:
    """Return the sections, in order.

    Raises:
        ValueError: it is no whole little-endian ELF file.
    """
    if not is_elf(elf):
        raise ValueError("not a little-endian ELF file")
    try:
        kind = elf[4]
        headers = section_headers(elf, kind)
        (start,) = struct.unpack_from(_WORD[kind], elf, _SECTIONS_AT[kind])
        (number,) = struct.unpack_from("<H", elf, _NAMES_AT[kind])
        names = headers[headers[0][6] if number == 0xFFFF else number] if headers else ()
        found = []
        for index, header in enumerate(headers):
            at = names[4] + header[0]
            content = b"" if header[1] == _NOBITS else elf[header[4] : header[4] + header[5]]
            place = start + index * struct.calcsize(_SECTION[kind])
            found.append(ElfSection(elf[at : elf.index(b"\0", at)], header, place, content))
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError(f"not a whole ELF file: {error}") from None
    return found


def symbols(elf: bytes, *, dynamic: bool = False) -> list[ElfSymbol]:
    """Return the symbols that are not local: of the symbol table, or those for the dynamic linker.

    Raises:
        ValueError: it is no whole little-endian ELF file.
    """
    every = sections(elf)
    wanted = _DYNAMIC_SYMBOLS if dynamic else _SYMBOL_TABLE
    tables = [section for section in every if section.header[1] == wanted]
    try:
        return sorted(symbol for table in tables for symbol in _symbols(elf[4], every, table))
    except (struct.error, IndexError) as error:
        raise ValueError(f"not a whole ELF file: {error}") from None


def _symbols(kind: int, every: list[ElfSection], table: ElfSection) -> Iterator[ElfSymbol]:
    names = every[table.header[6]].content
    for fields in struct.iter_unpack(_SYMBOL[kind], table.content):
        order = (0, 3, 4, 5, 2) if kind == 1 else (0, 1, 2, 3, 5)
        name, info, other, index, size = (fields[i] for i in order)
        if info >> 4 != _LOCAL:
            text = names[name : names.index(b"\0", name)]
            yield ElfSymbol(text, info >> 4, other & 3, bool(index), size)


def with_section(elf: bytes, name: bytes, content: bytes) -> bytes:
    """Return an object with one more section, which no linker loads nor copies to a program (SHF_EXCLUDE).

    Raises:
        ValueError: it is no whole object, or has too many sections.
    """
    every, kind = sections(elf), elf[4]
    (names_index,) = struct.unpack_from("<H", elf, _NAMES_AT[kind])
    if not is_object(elf) or not 0 < len(every) < _RESERVED - 1 or names_index >= _RESERVED:
        raise ValueError("expected an object with fewer sections")
    names = every[names_index].content
    start = len(elf) + -len(elf) % 8
    names_at, new_names = start + len(content), names + name + b"\0"
    headers = [section.header for section in every]
    old = headers[names_index]
    headers[names_index] = (*old[:4], names_at, len(new_names), *old[6:])
    headers.append((len(names), 1, EXCLUDE, 0, start, len(content), 0, 0, 1, 0))
    headers_at = names_at + len(new_names) + -(names_at + len(new_names)) % 8
    table = b"".join(struct.pack(_SECTION[kind], *header) for header in headers)
    whole = bytearray(elf.ljust(start, b"\0") + content + new_names)
    whole = whole.ljust(headers_at, b"\0") + table
    struct.pack_into(_WORD[kind], whole, _SECTIONS_AT[kind], headers_at)
    struct.pack_into("<H", whole, _COUNT_AT[kind], len(headers))
    return bytes(whole)


def flags_of_section(elf: bytes, section: ElfSection) -> tuple[int, bytes]:
    """Return where a section's flags are in the file, and what they are without SHF_EXCLUDE."""
    return section.header_at + _FLAGS_AT, struct.pack(_WORD[elf[4]], section.header[2] & ~EXCLUDE)
