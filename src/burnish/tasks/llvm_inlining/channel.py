"""A policy's answers to the inliner of an unmodified compiler: see burnish.llvm.channel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from burnish.core.errors import InputError
from burnish.llvm.channel import Questions
from burnish.policies.choose import ActionPolicy
from burnish.policies.columns import columns_of
from burnish.policies.native import native_network
from burnish.tasks.llvm_inlining.actions import ACTIONS, INLINE, LEAVE
from burnish.tasks.llvm_inlining.networks import is_perceptron
from burnish.tasks.llvm_inlining.observations import FEATURES
from burnish.tasks.llvm_inlining.policy.features_alone import on_features_alone


def inliner_questions(policy: ActionPolicy) -> Questions:
    """Return a policy's answers, 1 to inline, from its features by LLVM's names.

    Raises:
        InputError: the policy takes inputs that cannot be computed from LLVM's features, or has other actions
            than the answers.
    """
    policy = on_features_alone(policy)
    if set(policy.actions) != set(ACTIONS):
        some = ", ".join(policy.actions[:3])
        raise InputError(f"the policy chooses among {some}, ...; expected one that answers leave or inline")
    names = columns_of(policy) or FEATURES
    asked = partial(
        Questions,
        decision="inlining_decision",
        tensors=dict.fromkeys(names, 1),
        advisor="-enable-ml-inliner=release",
        channel_option="-inliner-interactive-channel-base",
        tool="opt",
    )
    if is_perceptron(policy, len(names)):
        network = native_network(policy)
        return asked(answer=lambda row: int(network.choose(np.array([row], np.int64))[0]))
    mask = np.ones((1, len(policy.actions)), dtype=bool)

    def answer(row: Sequence[float]) -> int:
        log_probs = policy.log_probs([np.array(row)], mask)[0]
        best = policy.actions[int(log_probs.argmax())]
        return INLINE if best == ACTIONS[INLINE] and bool(np.isfinite(log_probs).any()) else LEAVE

    return asked(answer=answer)
