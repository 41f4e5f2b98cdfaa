"""Policies of evictions: a perceptron scores each slot by its features, and the best slot is evicted.

As in ml-compiler-opt's rl/regalloc/regalloc_network.py, one network scores all slots. Its further inputs are
the live range that needs a register, the slot's place in allocation order, and the choice of LLVM's
heuristic. The file format is that of other array policies: see burnish.policies.arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import InputError
from burnish.policies.arrays import ArraysPolicy, load_arrays
from burnish.policies.columns import columns_of, with_columns
from burnish.policies.native import native_network
from burnish.tasks.llvm_codegen.evictions import EVICTION_COLUMNS, SLOTS

ACTIONS: Final = ("evict",)
INPUTS: Final = tuple(_native.eviction_input_names())
"""The network's inputs for a slot; see native/eviction_network.h."""
IS_LLVMS: Final = INPUTS[-1]
"""The input that only this process has: whether LLVM's heuristic takes the slot."""

_OF_SLOT = len(EVICTION_COLUMNS) // SLOTS  # number of features of a slot, with the mask, without progress
_MOST = np.float32(1e6)

Floats = NDArray[np.float32]
Slots = NDArray[np.int64]


def slot_inputs(rows: Floats, llvms: Slots) -> tuple[Floats, Slots, Slots]:
    """Return the network's inputs for all M slots that the masks of N decisions allow.

    Args:
        rows: float32[N, 661], by EVICTION_COLUMNS.
        llvms: int64[N], the slots that LLVM's heuristic chooses.

    Returns:
        float32[M, 42] by INPUTS; int64[M], the index of the decision, ascending; int64[M], the slot,
        ascending within a decision.
    """
    features = rows[:, :-1].reshape(len(rows), _OF_SLOT, SLOTS)
    decision, slot = np.nonzero(features[:, 0] != 0)
    last = SLOTS - 1
    inputs = np.concatenate(
        [
            features[decision, 1:, slot],
            features[decision, 1:, last],
            rows[decision, -1:],
            (slot / np.float32(last)).astype(np.float32)[:, None],
            (slot == last).astype(np.float32)[:, None],
            (slot == llvms[decision]).astype(np.float32)[:, None],
        ],
        axis=1,
    )
    return np.clip(np.where(np.isnan(inputs), np.float32(0), inputs), -_MOST, _MOST), decision, slot


@dataclass(frozen=True, eq=False)
class EvictionScorer:
    """A policy of evictions; its card names the inputs that it takes, if these are not all."""

    policy: ArraysPolicy

    def __post_init__(self) -> None:
        taken = columns_of(self.policy) or INPUTS
        inputs = len(self.policy.encoder.mean)
        if self.policy.actions != ACTIONS or inputs != len(taken) or not {*taken} <= {*INPUTS}:
            raise InputError(
                f"a policy of {len(self.policy.actions)} actions on {inputs} features is not a policy of "
                f"evictions: expected the action 'evict' and {len(INPUTS)} features of a slot"
            )

    @property
    def sees_llvms(self) -> bool:
        """True if the policy takes the slot of LLVM's heuristic as an input."""
        return IS_LLVMS in (columns_of(self.policy) or INPUTS)

    @cached_property
    def of_all_inputs(self) -> ArraysPolicy:
        """The same policy on all INPUTS."""
        spread = with_columns(self.policy, INPUTS)
        assert isinstance(spread, ArraysPolicy)
        return spread

    def scores(self, rows: Floats, llvms: Slots) -> Floats:
        """Return float32[N, 33] for float32[N, 661] and int64[N]; -inf for slots that the mask forbids."""
        inputs, decision, slot = slot_inputs(rows, llvms)
        found = np.full((len(rows), SLOTS), -np.inf, dtype=np.float32)
        found[decision, slot] = self.of_all_inputs.head(self.of_all_inputs.encoder(inputs))[:, 0]
        return found

    @cached_property
    def native(self) -> _native.EvictionNetwork:
        """The same policy in the native core, for CodegenSession.generate.

        Raises:
            InputError: the shapes of the policy's arrays do not match, or a weight is not finite.
        """
        return _native.EvictionNetwork(native_network(self.of_all_inputs))


def load_scorer(path: Path) -> EvictionScorer:
    """Read a policy of evictions.

    Raises:
        InputError: the file is not a policy of evictions.
    """
    try:
        return EvictionScorer(load_arrays(path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
