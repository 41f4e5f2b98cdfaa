"""What is minimised: what is measured of any LLVM module, less what only makes sense for passes."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.objective import Objective
from burnish.tasks.llvm_passes.objectives import OBJECTIVES as OF_MODULES

SHARED = (
    "loaded-bytes",
    "text-bytes",
    "ir-instructions",
    "object-bytes",
    "slowdown",
    "code-growth",
    "linked-growth",
    "seconds",
    "cycles",
    "instructions",
)

OBJECTIVES: dict[str, Objective] = {
    # Every one takes a whole compile, and no question has a cost of its own.
    name: replace(OF_MODULES[name], dense=False, by_site=False)
    for name in SHARED
}
