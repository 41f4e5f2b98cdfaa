"""Objectives: those of any object file, and the expected cost of its register allocation."""

from __future__ import annotations

from burnish.core.objective import Objective
from burnish.llvm.modules.objectives import OBJECTIVES as OF_MODULES
from burnish.llvm.modules.objectives import SIZES

SPILL_COST, EXECUTED_SPILL_COST = "spill-cost", "executed-spill-cost"

OBJECTIVES: dict[str, Objective] = {
    name: OF_MODULES[name] for name in (*sorted(SIZES), "slowdown", "stack-bytes", "stack-growth")
} | {
    SPILL_COST: Objective(
        SPILL_COST,
        "points",
        "LLVM's score of the register allocation (MLGO's reward): copies, loads, stores and "
        "rematerializations in a call of each function, weighted by static block frequencies; at "
        "least 1",
        dense=False,
        heading="spills",
    ),
    EXECUTED_SPILL_COST: Objective(
        EXECUTED_SPILL_COST,
        "points",
        "the same score over the program's runs, weighted by how often each block was executed; at least 1",
        dense=False,
        needs_workload=True,
        heading="executed spills",
    ),
    **{name: OF_MODULES[name] for name in ("seconds", "cycles", "instructions")},
}
