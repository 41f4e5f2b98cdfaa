"""Computed gotos: from how many places a function goes on by one, and what it costs to have fewer.

That is how interpreters go from one instruction to the next. Code generation gives each block that ends so
an indirect jump of its own, by which a processor tells what comes next. It does not where the code before the
jump has grown together, which is smaller. No expected run time sees that: the instructions are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from burnish import _native
from burnish.tasks.llvm_passes.modules import emit_described, emit_object

if TYPE_CHECKING:
    from burnish.tasks.llvm_passes.session import ModuleSession

# Half of the places is 6 % slower. lua with 2 of 14 ran 15.6 % longer; by this it is 17.6 %.
ROOT = 12
_GOTO = _native.opcode_count_names().index("IndirectBr")


def gotos(session: ModuleSession) -> Mapping[str, int]:
    """Return the places of each function's computed gotos in machine code; only of functions that have any.

    Raises:
        CompilerCrash: LLVM gives up.
    """
    if not _has_gotos(session):
        return {}
    known, digest = session.origin.gotos, session.digest()
    if known.get(digest) is None:
        emit(session)
    return known.get(digest) or {}


def emit(session: ModuleSession) -> bytes:
    """Return the object file that the back end makes of a state, and remember the places in it.

    Raises:
        CompilerCrash: LLVM gives up.
    """
    module, options = session.module, session.options
    if not _has_gotos(session):
        return emit_object(module, options.level, options.cpu)
    made = emit_described(module, options.level, options.cpu)
    session.origin.gotos.put(session.digest(), dict(made.computed_gotos))
    return made.object


def losses(now: Mapping[str, int], reference: Mapping[str, int]) -> dict[str, float]:
    """Return by how much functions are slower that have fewer places than in the reference.

    A function without computed gotos has lost nothing: it goes on in another way, whose cost is seen.
    """
    return {
        name: (before / now[name]) ** (1 / ROOT)
        for name, before in reference.items()
        if 0 < now.get(name, 0) < before
    }


def _has_gotos(session: ModuleSession) -> bool:
    return bool(session.opcode_counts()[_GOTO])
