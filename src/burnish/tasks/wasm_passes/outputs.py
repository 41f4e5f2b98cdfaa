"""Files of a state: the module in its binary and in its text form."""

from __future__ import annotations

from burnish.core.errors import InputError
from burnish.core.session import Session


def write_binary(session: Session, arguments: tuple[str, ...], _baseline: str) -> bytes:
    """Return the content of the .wasm file."""
    _no(arguments)
    return session.object_code()


def write_text(session: Session, arguments: tuple[str, ...], _baseline: str) -> bytes:
    """Return the content of the .wat file."""
    _no(arguments)
    text = session.observe("wat")
    assert isinstance(text, str)
    return text.encode()


def _no(arguments: tuple[str, ...]) -> None:
    if arguments:
        raise InputError(f"{arguments[0]!r}: modules are written without options")
