"""What an object offers to the linker: the check that an optimizer took nothing away."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_SYMBOL_TABLE, _GROUPED = 2, 0x200  # SHT_SYMTAB, SHF_GROUP
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


def _offered(elf: bytes, kind: int) -> Iterator[tuple[bytes, bool, int]]:
    sections = section_headers(elf, kind)
    for table in sections:
        if table[1] != _SYMBOL_TABLE:
            continue
        names = sections[table[6]][4]
        for offset in range(table[4], table[4] + table[5], struct.calcsize(_SYMBOL[kind])):
            fields = struct.unpack_from(_SYMBOL[kind], elf, offset)
            name, info, other, index = (fields[i] for i in ((0, 3, 4, 5) if kind == 1 else (0, 1, 2, 3)))
            weak = info >> 4 == _WEAK
            if info >> 4 not in (_GLOBAL, _WEAK) or index == _UNDEFINED:
                continue
            if weak and index < _FIRST_RESERVED and sections[index][2] & _GROUPED:
                continue
            yield elf[names + name : elf.index(b"\0", names + name)], weak, other & 3


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
