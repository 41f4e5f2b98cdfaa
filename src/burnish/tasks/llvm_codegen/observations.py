"""Observations: the module, its functions, and the decisions on their code generation."""

from __future__ import annotations

from burnish import _native
from burnish.core.objective import Observation
from burnish.llvm.modules.observations import OBSERVATIONS as OF_MODULES
from burnish.tasks.llvm_codegen.actions import ACTIONS
from burnish.tasks.llvm_codegen.evictions import EVICTION_COLUMNS, SLOTS

FUNCTIONS, FUNCTION_NAMES, DECISIONS = "functions", "function-names", "decisions"
EVICTIONS, EVICTION_FUNCTIONS, EVICTION_SLOTS = "evictions", "eviction-functions", "eviction-slots"
OPCODES = tuple(_native.opcode_count_names())
OBJECT = "object"
NOW = ("text-bytes", "loaded-bytes", "spill-cost", "executed")
"""Columns for a function's machine code under the current decisions; the last two are rounded."""

OF_MODULE = tuple(name for name in OF_MODULES if name != "trace")
"""The observations of llvm_passes: decisions on code generation do not change them."""

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
