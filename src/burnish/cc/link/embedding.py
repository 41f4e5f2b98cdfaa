"""A unit in the object that clang made of it: written, and read if the object is still the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from burnish import _native
from burnish.cc import processes
from burnish.cc.improve import front_end
from burnish.cc.jobs import ClangJob
from burnish.cc.link.unit_records import ProgramUnit, decode_units
from burnish.core.clock import Clock

SECTION = ".burnish.unit"
_ALLOC, _LOCAL = 2, 0  # SHF_ALLOC, STB_LOCAL


@dataclass(frozen=True)
class Embedded:
    """An object's unit, and the offset of its section's flags in the object."""

    unit: ProgramUnit
    flags_at: int


def seal(content: bytes) -> str:
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


def read_unit(content: bytes) -> Embedded | None:
    """Return the unit of an object; None if it does not have exactly one, or the object was changed."""
    if SECTION.encode() not in content:
        return None
    try:
        (section,) = (one for one in _native.elf_sections(content) if one.name == SECTION)
        (unit,) = decode_units(section.content)
        if unit.seal != seal(content):
            return None
    except ValueError:
        return None
    return Embedded(unit, section.flags_at)


@dataclass(frozen=True)
class Costs:
    """The cost of a unit so far, in processor time."""

    clang_seconds: float
    began: float  # start of burnish's part, by the clock
    clock: Clock


def embed(job: ClangJob, content: bytes, costs: Costs, folder: Path, deadline_seconds: float) -> bytes:
    """Return the object that clang made by a job, with the job's unit added.

    Raises:
        KeptReference: the front end fails, although it succeeded before.
        ValueError: the object cannot take another section.
    """
    front = folder / "unit.bc"
    processes.run_quietly(front_end(job.silenced(), front).command, deadline_seconds)
    spent = costs.clock.now() - costs.began
    unit = ProgramUnit(front.read_bytes(), job.command, costs.clang_seconds, seal(content), spent)
    return _native.with_section(content, SECTION, unit.encode())
