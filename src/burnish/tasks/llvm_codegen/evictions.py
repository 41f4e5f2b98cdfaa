"""Evictions of the register allocator: LLVM's features of each decision, and the policies that decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from burnish import _native

EvictionPolicy = Callable[[str, NDArray[np.float32]], int | None] | _native.EvictionNetwork
"""Chooses the slot that the register allocator evicts: (function, float32[661]) -> slot; None: LLVM's choice.

The columns are EVICTION_COLUMNS. The row's `mask` must allow the slot. The last slot is the live range
itself, which then has to wait. A network answers in the compile's own thread; see
burnish.tasks.llvm_codegen.policy.scorer."""

SLOTS: int = _native.EVICTION_SLOTS
EVICTION_FEATURES = tuple(_native.eviction_feature_names())
"""LLVM's names of the features; all but the last have a value for each slot."""
EVICTION_COLUMNS = (
    *(f"{name}[{slot}]" for name in EVICTION_FEATURES[:-1] for slot in range(SLOTS)),
    EVICTION_FEATURES[-1],
)
"""LLVM's features (MLGO's, llvm/lib/CodeGen/MLRegAllocEvictAdvisor.cpp) of each register in allocation order,
and of the live range that needs one. The last column is the progress of the whole allocation."""


@dataclass(frozen=True, eq=False)
class Evictions:
    """All N decisions of one code generation, in LLVM's order."""

    functions: list[str]  # N: the function of each decision
    rows: NDArray[np.float32]  # [N, 661], by EVICTION_COLUMNS
    llvms: NDArray[np.int64]  # [N]: LLVM's slot; -1 if `mask` does not allow it
    chosen: NDArray[np.int64]  # [N]: the policy's slot; -1 if LLVM decided

    def __len__(self) -> int:
        return len(self.functions)


def logged(made: _native.Generated) -> Evictions:
    """Return the evictions that a code generation logged; none if it did not log."""
    if made.evictions is None:
        nothing = np.zeros(0, dtype=np.int64)
        return Evictions([], np.zeros((0, len(EVICTION_COLUMNS)), dtype=np.float32), nothing, nothing)
    return Evictions(*made.evictions)
