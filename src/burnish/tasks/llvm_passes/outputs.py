"""How a state is written to a file."""

from __future__ import annotations

from burnish import _native
from burnish.core.session import Session
from burnish.toolchain import bitcode_to_object


def write_object(session: Session, arguments: tuple[str, ...], level: str) -> bytes:
    """Return the object file that clang's code generation makes with a user's own options.

    Raises:
        CompileError: clang rejects it.
    """
    bitcode = write_bitcode(session, arguments, level)
    target = f"--target={_native.Module(bitcode).triple}"  # or clang takes this machine's
    return bitcode_to_object(bitcode, (target, *arguments), level=level)


def write_bitcode(session: Session, _arguments: tuple[str, ...], _level: str) -> bytes:
    """Return the module as bitcode."""
    content = session.observe("bitcode")
    assert isinstance(content, bytes)
    return content


def write_text(session: Session, _arguments: tuple[str, ...], _level: str) -> bytes:
    """Return the module as text."""
    content = session.observe("ir")
    assert isinstance(content, str)
    return content.encode()
