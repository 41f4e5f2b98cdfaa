"""What an object offers to the linker, and what the linker may take from another one."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_SYMBOL_TABLE, _GROUP, _GROUPED = 2, 17, 0x200  # SHT_SYMTAB, SHT_GROUP, SHF_GROUP
_FUNCTION = 2  # STT_FUNC
_GLOBAL, _WEAK = 1, 2
_UNDEFINED, _FIRST_RESERVED = 0, 0xFF00

# (offset of e_shoff, of e_shentsize) and the layouts of a section header and a symbol, by EI_CLASS.
_HEADER = {1: ("<I", 0x20, 0x2E), 2: ("<Q", 0x28, 0x3A)}
_SECTION = {1: "<10I", 2: "<IIQQQQIIQQ"}
_SYMBOL = {1: "<IIIBBH", 2: "<IBBHQQ"}


def offered_symbols(elf: bytes) -> frozenset[tuple[bytes, bool, int]]:
    """Return (name, weak, visibility) of what other objects may rely on in a little-endian ELF object.

    That is each definition that is not local, except weak ones in a COMDAT group: inline functions and
    templates, which every object that uses one brings along. (ELF specification, chapter 4.)

    Raises:
        ValueError: it is not such an object.
    """
    if elf[:4] != b"\x7fELF" or elf[4] not in _HEADER or elf[5] != 1:
        raise ValueError("not a little-endian ELF object")
    try:
        return frozenset(_offered(elf, elf[4]))
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError(f"not a whole ELF object: {error}") from None


def grouped_functions(elf: bytes) -> Iterator[tuple[str, tuple[int, int], str]]:
    """Yield (group, place, name) of each function, local ones too, in a COMDAT group of an ELF object.

    A group is named by its signature; two names of one function have the same place.

    Raises:
        ValueError: it is no little-endian ELF object.
    """
    if elf[:4] != b"\x7fELF" or elf[4] not in _HEADER or elf[5] != 1:
        raise ValueError("not a little-endian ELF object")
    try:
        symbols = list(_symbols(elf, elf[4]))
        groups: dict[int, bytes] = {}
        for header in section_headers(elf, elf[4]):
            if header[1] == _GROUP:
                _, *members = struct.unpack_from(f"<{header[5] // 4}I", elf, header[4])
                groups |= dict.fromkeys(members, symbols[header[7]].name)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise ValueError(f"not a whole ELF object: {error}") from None
    for symbol in symbols:
        if symbol.info & 15 == _FUNCTION and symbol.section in groups:
            group, name = groups[symbol.section], symbol.name
            yield (
                group.decode(errors="replace"),
                (symbol.section, symbol.value),
                name.decode(errors="replace"),
            )


class _Symbol(NamedTuple):
    name: bytes
    info: int  # binding and type
    other: int  # visibility
    section: int
    value: int


def _symbols(elf: bytes, kind: int) -> Iterator[_Symbol]:
    sections = section_headers(elf, kind)
    for table in sections:
        if table[1] != _SYMBOL_TABLE:
            continue
        names = sections[table[6]][4]
        for offset in range(table[4], table[4] + table[5], struct.calcsize(_SYMBOL[kind])):
            fields = struct.unpack_from(_SYMBOL[kind], elf, offset)
            order = (0, 3, 4, 5, 1) if kind == 1 else (0, 1, 2, 3, 4)
            name, *others = (fields[i] for i in order)
            yield _Symbol(elf[names + name : elf.index(b"\0", names + name)], *others)


def _offered(elf: bytes, kind: int) -> Iterator[tuple[bytes, bool, int]]:
    sections = section_headers(elf, kind)
    for name, info, other, index, _ in _symbols(elf, kind):
        weak = info >> 4 == _WEAK
        if info >> 4 not in (_GLOBAL, _WEAK) or index == _UNDEFINED:
            continue
        if weak and index < _FIRST_RESERVED and sections[index][2] & _GROUPED:
            continue
        yield name, weak, other & 3


def section_headers(elf: bytes, kind: int) -> list[tuple[int, ...]]:
    """Return (name, type, flags, address, offset, size, link, info, alignment, entry size) of each section.

    Args:
        elf: A little-endian ELF file.
        kind: Its EI_CLASS: 1 for 32 bits, 2 for 64.
    """
    layout, offset_at, size_at = _HEADER[kind]
    (start,) = struct.unpack_from(layout, elf, offset_at)
    size, count = struct.unpack_from("<HH", elf, size_at)
    if not count and start:  # as many as fit no 16 bits: the first header's size says it
        count = struct.unpack_from(_SECTION[kind], elf, start)[5]
    return [struct.unpack_from(_SECTION[kind], elf, start + size * index) for index in range(count)]
