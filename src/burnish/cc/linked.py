"""What a linked program loads: its allocated sections by kind, from the section headers of an ELF file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from burnish.cc.symbols import section_headers
from burnish.core.errors import InputError

# In the order in which tables show them.
KINDS = ("code", "read-only data", "data", "unwind tables", "relocations", "other")

_NOBITS = 8
_EXECUTABLE, _SHARED = 2, 3  # e_type
_WRITE, _ALLOC, _EXECINSTR = 1, 2, 4  # sh_flags
_RELOCATIONS = (4, 9, 19)  # SHT_RELA, SHT_REL, SHT_RELR
# What the dynamic linker reads, and notes: SHT_STRTAB, HASH, DYNAMIC, NOTE, DYNSYM, GNU_HASH, GNU_verdef,
# GNU_verneed, GNU_versym.
_DYNAMIC = (3, 5, 6, 7, 11, 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF)
_UNWIND = (".eh_frame", ".eh_frame_hdr", ".gcc_except_table", ".ARM.exidx", ".ARM.extab")
_PADDING = ".relro_padding"  # lld's, to the end of a page: nothing of the program's, and nothing in its file

_NAMES_AT = {1: 0x32, 2: 0x3E}  # the offset of e_shstrndx by EI_CLASS


@dataclass(frozen=True)
class Section:
    """One allocated section."""

    name: str
    kind: str  # one of KINDS, or "bss"
    size_bytes: int


@dataclass(frozen=True)
class Linked:
    """The allocated sections of a linked program or shared library, in their order in the file."""

    sections: tuple[Section, ...]

    def of_kind(self, kind: str) -> int:
        """Return the bytes of the sections of a kind."""
        return sum(section.size_bytes for section in self.sections if section.kind == kind)

    def named(self, *names: str) -> int:
        """Return the bytes of the sections with these names."""
        return sum(section.size_bytes for section in self.sections if section.name in names)

    @property
    def loaded_bytes(self) -> int:
        """The bytes that are read from the file into memory: every allocated section but .bss."""
        return sum(self.of_kind(kind) for kind in KINDS)

    @property
    def bss_bytes(self) -> int:
        """The bytes that are zeros in memory and not in the file, thread-local ones too."""
        return self.of_kind("bss")


def read_linked(path: Path) -> Linked:
    """Read a linked program; symbols and debug information, stripped or not, are not loaded and do not count.

    Raises:
        InputError: it is no little-endian ELF program or shared library, or has no section headers.
    """
    try:
        elf = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a linked program") from None
    if elf[:4] != b"\x7fELF" or len(elf) < 0x40 or elf[4] not in _NAMES_AT or elf[5] != 1:
        raise InputError(f"{path}: expected a linked program, a little-endian ELF file")
    (kind_of_file,) = struct.unpack_from("<H", elf, 0x10)
    if kind_of_file not in (_EXECUTABLE, _SHARED):
        raise InputError(
            f"{path}: expected a linked program or shared library; this is an object: link it first"
        )
    try:
        found = Linked(tuple(_sections(elf, elf[4])))
    except (struct.error, IndexError, ValueError) as error:
        raise InputError(f"{path}: not a whole ELF file: {error}") from None
    if not found.sections:
        raise InputError(
            f"{path}: no section headers, which say what is code and what is not; strip keeps them"
        )
    return found


def _sections(elf: bytes, kind: int) -> Iterator[Section]:
    headers = section_headers(elf, kind)
    if not headers:
        return
    (names_index,) = struct.unpack_from("<H", elf, _NAMES_AT[kind])
    names = headers[headers[0][6] if names_index == 0xFFFF else names_index][4]
    for header in headers:
        name_at, section_type, flags, size = names + header[0], header[1], header[2], header[5]
        name = elf[name_at : elf.index(b"\0", name_at)].decode(errors="replace")
        if flags & _ALLOC and size and name != _PADDING:
            yield Section(name, _kind(name, section_type, flags), size)


def _kind(name: str, section_type: int, flags: int) -> str:
    if section_type == _NOBITS:
        return "bss"
    if name in _UNWIND:
        return "unwind tables"
    if section_type in _RELOCATIONS:
        return "relocations"
    if section_type in _DYNAMIC or name == ".interp":
        return "other"
    if flags & _EXECINSTR:
        return "code"
    return "data" if flags & _WRITE else "read-only data"
