"""Objectives: those of llvm_passes, without those that only make sense for passes."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.objective import Objective
from burnish.llvm.modules.objectives import OBJECTIVES as OF_MODULES

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
    # Each takes a whole compile, and questions have no cost of their own.
    name: replace(OF_MODULES[name], dense=False, by_site=False)
    for name in SHARED
}
