"""A policy's answers to the inliner of an unmodified compiler: see burnish.llvm.channel.

A compiler sends LLVM's features. Given the vocabulary of burnish's vectors, it also sends the vectors of
callee and caller (llvm/lib/Analysis/MLInlineAdvisor.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from burnish.core.errors import InputError
from burnish.llvm.channel import Questions
from burnish.llvm.representations.ir2vec import DIMENSION, shipped_vocabulary
from burnish.policies.choose import ActionPolicy
from burnish.policies.columns import columns_of
from burnish.policies.native import native_network
from burnish.tasks.llvm_inlining.actions import ACTIONS, INLINE, LEAVE
from burnish.tasks.llvm_inlining.networks import is_perceptron
from burnish.tasks.llvm_inlining.observations import (
    CALLEE_VECTOR,
    CALLER_VECTOR,
    FEATURES,
    INLINING_FEATURES,
)
from burnish.tasks.llvm_inlining.policy.features_alone import on_features_alone

VECTORS = {CALLEE_VECTOR: "callee_embedding", CALLER_VECTOR: "caller_embedding"}
"""LLVM's names of the vectors, by burnish's."""
VOCABULARY_OPTIONS = "-ml-inliner-ir2vec-vocab-file", "-ir2vec-vocab-path"


def inliner_questions(policy: ActionPolicy) -> Questions:
    """Return a policy's answers, 1 to inline, from its inputs by LLVM's names.

    Raises:
        InputError: the policy takes inputs that cannot be computed from those that LLVM sends, or has other
            actions than the answers.
    """
    observed = policy.card.get("observation", INLINING_FEATURES)
    names = (observed,) if isinstance(observed, str) else tuple(observed)
    vectors = not VECTORS.keys().isdisjoint(names) and {INLINING_FEATURES, *VECTORS}.issuperset(names)
    if not vectors:
        policy, names = on_features_alone(policy), (INLINING_FEATURES,)
    if set(policy.actions) != set(ACTIONS):
        some = ", ".join(policy.actions[:3])
        raise InputError(f"the policy chooses among {some}, ...; expected one that answers leave or inline")
    columns = dict.fromkeys(columns_of(policy) or FEATURES, 1)
    sent = {name: {VECTORS[name]: DIMENSION} if name in VECTORS else columns for name in names}
    asked = partial(
        Questions,
        decision="inlining_decision",
        tensors={tensor: count for tensors in sent.values() for tensor, count in tensors.items()},
        advisor="-enable-ml-inliner=release",
        channel_option="-inliner-interactive-channel-base",
        tool="opt",
        more=tuple(f"{option}={shipped_vocabulary()}" for option in VOCABULARY_OPTIONS if vectors),
    )
    if not vectors and is_perceptron(policy, len(columns)):
        network = native_network(policy)
        return asked(answer=lambda row: int(network.choose(np.array([row], np.int64))[0]))
    mask = np.ones((1, len(policy.actions)), dtype=bool)
    ends = np.cumsum([sum(tensors.values()) for tensors in sent.values()])

    def answer(row: Sequence[float]) -> int:
        parts = dict(zip(names, np.split(np.array(row), ends[:-1]), strict=True))
        seen = parts if vectors and not isinstance(observed, str) else np.array(row)
        log_probs = policy.log_probs([seen], mask)[0]
        best = policy.actions[int(log_probs.argmax())]
        return INLINE if best == ACTIONS[INLINE] and bool(np.isfinite(log_probs).any()) else LEAVE

    return asked(answer=answer)
