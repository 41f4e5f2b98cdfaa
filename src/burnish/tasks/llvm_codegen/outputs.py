"""How a state is written to a file."""

from __future__ import annotations

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.session import Session
from burnish.tasks.llvm_passes.outputs import write_bitcode
from burnish.tasks.llvm_passes.outputs import write_object as write_by_clang


def write_object(session: Session, arguments: tuple[str, ...], level: str) -> bytes:
    """Return the object file that the decisions lead to.

    Whether our code generation is clang's with a user's own options is seen where nothing is decided.

    Raises:
        CompileError: clang rejects the options.
        InputError: they ask for another code generation.
    """
    clangs = write_by_clang(session, arguments, level)
    if not session.trace:
        return clangs
    if _native.Module(write_bitcode(session, arguments, level)).emit_object(level) != clangs:
        raise InputError(
            f"with {' '.join(arguments)} clang generates other code than burnish where nothing is decided, "
            "so what was decided does not hold for it; leave out what is about code generation only, such as "
            "-ffunction-sections, or optimize by the task llvm_passes"
        )
    return session.object_code()
