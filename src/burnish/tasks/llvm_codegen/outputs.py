"""Output file of a state: the object."""

from __future__ import annotations

import struct

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.session import Session
from burnish.llvm.modules.module import emit_object
from burnish.llvm.modules.parts import write_bitcode
from burnish.llvm.modules.parts import write_object as write_by_clang

# PE format: the first bytes of objects for x86-64 and x86 (the machine), the file header and section headers.
_COFF = (b"\x64\x86", b"\x4c\x01")
_FILE_HEADER, _SECTION_HEADER = struct.Struct("<2H3I2H"), struct.Struct("<8s6I2HI")
_RELOCATION_BYTES = 10
_DISCARDABLE = 0x02000000


def write_object(session: Session, arguments: tuple[str, ...], level: str) -> bytes:
    """Return the object file that the decisions lead to.

    The user's options must not change code generation. As a check, clang's object with the options is
    compared with burnish's object without decisions.

    Raises:
        CompileError: clang rejects the options.
        InputError: the options change code generation.
    """
    clangs = write_by_clang(session, arguments, level)
    if not session.trace:
        return clangs
    ours = emit_object(_native.Module(write_bitcode(session, arguments, level)), level, "")
    if _without_version(ours) != _without_version(clangs):
        raise InputError(
            f"with {' '.join(arguments)} clang's code differs from burnish's even without "
            "decisions, so the decisions do not apply to clang; leave out options of code "
            "generation, such as -ffunction-sections, or use --task llvm_passes"
        )
    return session.object_code()


def _without_version(content: bytes) -> bytes | list[bytes]:
    """Return the bytes of an object to compare: for COFF, only sections that are not discardable.

    LLVM for Windows writes its version into the discardable debug sections of every object, and the versions
    of burnish's LLVM and clang may differ.
    """
    if not content.startswith(_COFF):
        return content
    count = _FILE_HEADER.unpack_from(content)[1]
    headers = content[_FILE_HEADER.size :][: count * _SECTION_HEADER.size]
    found = []
    for name, _, _, size, start, relocations, _, relocated, _, flags in _SECTION_HEADER.iter_unpack(headers):
        if not flags & _DISCARDABLE:
            found += [name, content[start:][:size], content[relocations:][: relocated * _RELOCATION_BYTES]]
    return found
