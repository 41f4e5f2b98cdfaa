"""What of an object is loaded, to compare objects that differ in debug information.

Unwind tables are left out: with debug information LLVM describes every function in them, needed or not.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from burnish.cc.symbols import section_headers

_ALLOCATED, _NO_BITS, _SYMBOLS, _RELOCATIONS = 2, 8, 2, 4  # SHF_ALLOC, SHT_NOBITS, SHT_SYMTAB, SHT_RELA
_NAMES_AT = 0x3E  # e_shstrndx


def loaded_code(elf: bytes) -> dict[str, tuple[bytes, list[tuple[int, int, str, int]]]]:
    """Return each loaded section's bytes and relocations: (offset, type, symbol, addend)."""
    headers = section_headers(elf, 2)
    (names,) = struct.unpack_from("<H", elf, _NAMES_AT)
    titles = [_text(elf, headers[names][4] + header[0]) for header in headers]
    symbols = _symbols(elf, headers, titles)
    found: dict[str, tuple[bytes, list[tuple[int, int, str, int]]]] = {}
    for at, (title, header) in enumerate(zip(titles, headers, strict=True)):
        if not header[2] & _ALLOCATED or not header[5] or title == ".eh_frame":
            continue
        content = b"" if header[1] == _NO_BITS else elf[header[4] : header[4] + header[5]]
        relocations = [one for one in headers if one[1] == _RELOCATIONS and one[7] == at]
        found[title] = (
            content,
            [
                (offset, info & 0xFFFFFFFF, symbols[info >> 32], addend)
                for one in relocations
                for offset, info, addend in struct.iter_unpack("<QQq", elf[one[4] : one[4] + one[5]])
            ],
        )
    return found


def _symbols(elf: bytes, headers: Sequence[tuple[int, ...]], titles: Sequence[str]) -> list[str]:
    (table,) = (header for header in headers if header[1] == _SYMBOLS)
    entries = struct.iter_unpack("<IBBHQQ", elf[table[4] : table[4] + table[5]])
    return [
        _text(elf, headers[table[6]][4] + name) if name else titles[section]
        for name, _, _, section, _, _ in entries
        if section < len(titles) or name
    ]


def _text(elf: bytes, at: int) -> str:
    return elf[at : elf.index(b"\0", at)].decode()
