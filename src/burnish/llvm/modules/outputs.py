"""Output files of a state: object, bitcode and text."""

from __future__ import annotations

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.session import Session
from burnish.llvm.toolchain import bitcode_to_object

NO_TIME = "-mno-incremental-linker-compatible"  # leaves the time of creation out of COFF objects


def write_object(session: Session, arguments: tuple[str, ...], level: str) -> bytes:
    """Return the object file that clang's code generation makes with the user's options.

    Raises:
        CompileError: clang rejects the module or the options.
        InputError: this build has no back end for the module's target.
    """
    bitcode = write_bitcode(session, arguments, level)
    module = _native.Module(bitcode)
    if not module.has_back_end:
        raise InputError(
            f"made for '{module.triple}', for which this build of burnish cannot make machine code; "
            "write a .bc or .ll file instead of .o"
        )
    target = f"--target={module.triple}"  # otherwise clang uses this machine's
    return bitcode_to_object(bitcode, (target, NO_TIME, *arguments), level=level)


def write_bitcode(session: Session, _arguments: tuple[str, ...], _level: str) -> bytes:
    """Return the module as bitcode."""
    content = session.observe("bitcode")
    assert isinstance(content, bytes)
    return content


def write_text(session: Session, _arguments: tuple[str, ...], _level: str) -> bytes:
    """Return the module as LLVM IR text."""
    content = session.observe("ir")
    assert isinstance(content, str)
    return content.encode()
