"""What of an object is loaded, to compare objects that differ in debug information.

Unwind tables are left out: with debug information LLVM describes every function in them, needed or not.
"""

from __future__ import annotations

import struct

from burnish import _native

_ALLOCATED, _RELOCATIONS = 2, 4  # SHF_ALLOC, SHT_RELA


def loaded_code(elf: bytes) -> dict[str, tuple[bytes, list[tuple[int, int, str, int]]]]:
    """Return each loaded section's bytes and relocations: (offset, type, symbol, addend)."""
    sections = _native.elf_sections(elf)
    tables = [one for one in sections if one.type == _RELOCATIONS]
    relocations = {one.name: struct.iter_unpack("<QQq", one.content) for one in tables}
    symbols = [one.name or sections[one.section].name for one in _native.elf_symbols(elf)]
    return {
        one.name: (
            one.content,
            [
                (offset, info & 0xFFFFFFFF, symbols[info >> 32], addend)
                for offset, info, addend in relocations.get(f".rela{one.name}", ())
            ],
        )
        for one in sections
        if one.flags & _ALLOCATED and one.size and one.name != ".eh_frame"
    }
