"""Allocated sections of a linked program by kind, from the section headers of an ELF file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from burnish import _native
from burnish.core.errors import InputError

# In the order in which tables show them.
KINDS = ("code", "read-only data", "data", "unwind tables", "relocations", "other")

ELF = b"\x7fELF"  # first bytes of an ELF file
_NOBITS = 8
_LINKED = (b"\2\0", b"\3\0")  # e_type: ET_EXEC, ET_DYN
_WRITE, _ALLOC, _EXECINSTR = 1, 2, 4  # sh_flags
_RELOCATIONS = (4, 9, 19)  # SHT_RELA, SHT_REL, SHT_RELR
# Sections for the dynamic linker, and notes: SHT_STRTAB, HASH, DYNAMIC, NOTE, DYNSYM, GNU_HASH, GNU_verdef,
# GNU_verneed, GNU_versym.
_DYNAMIC = (3, 5, 6, 7, 11, 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF)
_UNWIND = (".eh_frame", ".eh_frame_hdr", ".gcc_except_table", ".ARM.exidx", ".ARM.extab")
_PADDING = ".relro_padding"  # lld's, to the end of a page: not in the file, and not part of the program


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

    @property
    def loaded_bytes(self) -> int:
        """The bytes that are read from the file into memory: every allocated section but .bss."""
        return sum(self.of_kind(kind) for kind in KINDS)

    @property
    def bss_bytes(self) -> int:
        """The bytes that are zeros in memory and not in the file, thread-local ones too."""
        return self.of_kind("bss")


def read_linked(path: Path) -> Linked:
    """Read a linked program; symbols and debug information are not loaded, so they do not count.

    Raises:
        InputError: the file is not a little-endian ELF program or shared library, or has no section headers.
    """
    try:
        elf = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a linked program") from None
    if len(elf) < 0x40 or not elf.startswith(ELF) or elf[4:6] not in (b"\1\1", b"\2\1"):
        raise InputError(f"{path}: expected a linked program, a little-endian ELF file")
    if elf[16:18] not in _LINKED:
        raise InputError(
            f"{path}: expected a linked program or shared library; this is an object: link it first"
        )
    try:
        found = Linked(tuple(_sections(elf)))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    if not found.sections:
        raise InputError(
            f"{path}: no section headers, which say what is code and what is not; strip keeps them"
        )
    return found


def _sections(elf: bytes) -> Iterator[Section]:
    for section in _native.elf_sections(elf):
        name = section.name.encode(errors="replace").decode()  # so that it can be printed
        if section.flags & _ALLOC and section.size and name != _PADDING:
            yield Section(name, _kind(name, section.type, section.flags), section.size)


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
