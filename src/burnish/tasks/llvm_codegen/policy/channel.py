"""A policy's answers to the register allocator of an unmodified compiler: see burnish.llvm.channel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burnish.core.errors import InputError
from burnish.llvm.channel import Questions
from burnish.tasks.llvm_codegen.evictions import EVICTION_FEATURES, SLOTS
from burnish.tasks.llvm_codegen.policy.scorer import EvictionScorer

TENSORS = dict.fromkeys(EVICTION_FEATURES[:-1], SLOTS) | {EVICTION_FEATURES[-1]: 1}
UNKNOWN = np.array([-1])  # LLVM's own slot, which a compiler does not send


def eviction_questions(scorer: EvictionScorer) -> Questions:
    """Return a policy's answers: the slots that are evicted.

    Raises:
        InputError: the policy observes what LLVM's heuristic takes, or its network cannot run.
    """
    if scorer.sees_llvms:
        raise InputError(
            "the policy observes the slot that LLVM's heuristic takes, but a compiler does not send it; "
            "train one with --set algorithm.sees_llvms=false"
        )
    network = scorer.native

    def answer(row: Sequence[float]) -> int:
        return int(network.scores(np.array([row], dtype=np.float32), UNKNOWN)[0].argmax())

    return Questions(
        decision="index_to_evict",
        tensors=TENSORS,
        answer=answer,
        advisor="-regalloc-enable-advisor=release",
        channel_option="-regalloc-evict-interactive-channel-base",
        tool="llc",
    )
