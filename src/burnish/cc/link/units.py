"""A unit of a whole program: its bitcode before any pass and clang's command for it, in clang's object."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from burnish import _native
from burnish.cc.jobs import ClangJob
from burnish.core.decoding import json_object

SECTION = ".burnish.unit"
# The first bytes of a record. The size of the rest, in 8 bytes, and the rest follow.
MAGIC = b"\0burnish-unit-1\0\n"
_ALLOC, _LOCAL = 2, 0  # SHF_ALLOC, STB_LOCAL


@dataclass(frozen=True)
class ProgramUnit:
    """One translation unit as its object carries it."""

    bitcode: bytes
    command: tuple[str, ...]  # the clang -cc1 line that made the object
    seconds: float  # clang's processor time
    seal: str  # of the object that clang made: see seal_of
    spent_seconds: float = 0.0  # burnish's time for the unit so far, beyond clang's

    @property
    def job(self) -> ClangJob:
        """The compilation of the unit by clang."""
        return ClangJob(self.command)

    def encode(self) -> bytes:
        """Return the unit as a record; one section may have several records, one after the other."""
        seconds = {"seconds": round(self.seconds, 4), "spent_seconds": round(self.spent_seconds, 4)}
        header = {"command": self.command, **seconds, "seal": self.seal}
        body = zlib.compress(json.dumps(header).encode() + b"\n" + self.bitcode, 3)
        return MAGIC + len(body).to_bytes(8, "little") + body


def decode_units(section: bytes) -> Iterator[ProgramUnit]:
    """Yield the units of a section, in order; linkers may put zeros between them.

    Raises:
        ValueError: the section contains something else.
    """
    at = 0
    while section[at:].strip(b"\0"):
        start = section.find(MAGIC, at)
        if start < 0 or section[at:start].strip(b"\0"):
            raise ValueError("expected a unit of burnish")
        size_at = start + len(MAGIC)
        size = int.from_bytes(section[size_at : size_at + 8], "little")
        at = size_at + 8 + size
        if len(section) < at:
            raise ValueError("a unit of burnish is cut off")
        yield _decode(section[size_at + 8 : at])


def _decode(body: bytes) -> ProgramUnit:
    try:
        header, _, bitcode = zlib.decompress(body).partition(b"\n")
        row = json_object(header.decode())
        seconds, spent = float(row["seconds"]), float(row.get("spent_seconds", 0.0))
        return ProgramUnit(bitcode, tuple(row["command"]), seconds, str(row["seal"]), spent)
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError(f"not a unit of burnish: {error}") from None


def seal_of(content: bytes) -> str:
    """Return a digest of an object's loaded sections and symbols, by which a unit recognises its object.

    strip, ar and similar tools do not change the digest. objcopy with new names, or ld -r with another
    object, changes it; then the unit no longer matches the object.

    Raises:
        ValueError: the content is not an ELF file.
    """
    digest = hashlib.blake2b(digest_size=16)
    for section in _native.elf_sections(content):
        if section.flags & _ALLOC:
            digest.update(repr((section.name, section.type, section.flags, section.size)).encode())
            digest.update(section.content)
    symbols = [
        (symbol.name, symbol.binding, symbol.visibility, symbol.is_defined, symbol.size)
        for symbol in _native.elf_symbols(content)
        if symbol.binding != _LOCAL
    ]
    digest.update(repr(sorted(symbols)).encode())
    return digest.hexdigest()


def with_unit(content: bytes, bitcode: bytes, job: ClangJob, seconds: float, spent_seconds: float) -> bytes:
    """Return an object with a unit; see ProgramUnit.

    Raises:
        ValueError: the content is not an ELF file.
    """
    unit = ProgramUnit(bitcode, job.command, seconds, seal_of(content), spent_seconds)
    return _native.with_section(content, SECTION, unit.encode())


@dataclass(frozen=True)
class Embedded:
    """An object's unit, and the offset of its section's flags in the object."""

    unit: ProgramUnit
    flags_at: int


def read_unit(content: bytes) -> Embedded | None:
    """Return the unit of an object; None if it does not have exactly one, or the object was changed."""
    if SECTION.encode() not in content:
        return None
    try:
        (section,) = (one for one in _native.elf_sections(content) if one.name == SECTION)
        (unit,) = decode_units(section.content)
        if unit.seal != seal_of(content):
            return None
    except ValueError:
        return None
    return Embedded(unit, section.flags_at)
