"""What a state looks like: the module, its functions, and what was decided of their code generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.objective import Observation
from burnish.core.view import Observed
from burnish.tasks.llvm_codegen.actions import ACTIONS
from burnish.tasks.llvm_codegen.evictions import EVICTION_COLUMNS, SLOTS
from burnish.tasks.llvm_passes.observations import OBSERVATIONS as OF_MODULES

if TYPE_CHECKING:
    from burnish.tasks.llvm_codegen.session import CodegenSession

FUNCTIONS, FUNCTION_NAMES, DECISIONS = "functions", "function-names", "decisions"
EVICTIONS, EVICTION_FUNCTIONS, EVICTION_SLOTS = "evictions", "eviction-functions", "eviction-slots"
OPCODES = tuple(_native.opcode_count_names())
OBJECT = "object"
NOW = ("text-bytes", "loaded-bytes", "spill-cost", "executed")
"""Of a function's machine code under these decisions; the last two are rounded."""

OF_MODULE = tuple(name for name in OF_MODULES if name != "trace")
"""Those of llvm_passes: no decision of code generation changes them."""

OBSERVATIONS: dict[str, Observation] = {name: OF_MODULES[name] for name in OF_MODULE} | {
    item.name: item
    for item in (
        Observation(
            FUNCTIONS,
            "Of each function in the order of `function-names`: opcode-counts; bytes, spill cost and "
            "executed instructions of its machine code now",
            kind="sequence",
            shape=(len(OPCODES) + len(NOW),),
            columns=(*OPCODES, *NOW),
        ),
        Observation(
            DECISIONS,
            "The decisions for each function of `function-names`: 1 for each action that was chosen",
            kind="sequence",
            shape=(len(ACTIONS),),
            high=1,
            columns=ACTIONS,
        ),
        Observation(FUNCTION_NAMES, "The functions, one a line, the largest first", kind="text"),
        Observation(
            EVICTIONS,
            "LLVM's features of every eviction that its register allocator considers under these "
            "decisions: of 32 registers, of the live range that needs one, and the progress of the "
            "allocation",
            kind="sequence",
            shape=(len(EVICTION_COLUMNS),),
            dtype="float32",
            low=float("-inf"),
            columns=EVICTION_COLUMNS,
        ),
        Observation(
            EVICTION_SLOTS,
            "LLVM's own choice among the 33 in each eviction; the last one is the live range itself",
            kind="sequence",
            shape=(1,),
            low=-1,
            high=SLOTS - 1,
            columns=("slot",),
        ),
        Observation(EVICTION_FUNCTIONS, "The function of each eviction, one a line", kind="text"),
        Observation(OBJECT, "The object file", kind="bytes"),
    )
}


def observe(session: CodegenSession, space: str) -> Observed:
    """Compute one of OBSERVATIONS.

    Raises:
        KeyError: it is none of them.
    """
    match space:
        case "functions":
            return _functions(session)
        case "decisions":
            return _decisions(session)
        case "function-names":
            return "\n".join(session.sites())
        case "evictions":
            return session.evictions().rows
        case "eviction-slots":
            return session.evictions().llvms[:, None]
        case "eviction-functions":
            return "\n".join(session.evictions().functions)
        case "object":
            return session.object_code()
    if space not in OF_MODULE:
        raise KeyError(space)
    return session.opened.observe(space)


def _functions(session: CodegenSession) -> NDArray[np.int64]:
    made = session.generation()
    of_code = (
        dict(session.sizes().functions),
        dict(session.sizes().functions_loaded),
        made.spill_costs,
        made.executed,
    )
    rows = [
        [*session.opened.module.opcode_counts(name), *(round(shares.get(name, 0)) for shares in of_code)]
        for name in session.sites()
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, len(OPCODES) + len(NOW))


def _decisions(session: CodegenSession) -> NDArray[np.int64]:
    index = {text: i for i, text in enumerate(ACTIONS)}
    rows = np.zeros((len(session.sites()), len(ACTIONS)), dtype=np.int64)
    for row, name in zip(rows, session.sites(), strict=True):
        row[[index[text] for text in session.decisions_of(name).actions()]] = 1
    return rows
