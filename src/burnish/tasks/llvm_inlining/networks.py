"""Policies as networks of the native core, which answer in the compile's thread, without Python."""

from __future__ import annotations

from burnish import _native
from burnish.core.answer import Answerer
from burnish.policies.answer import Answers
from burnish.policies.arrays import ArraysPolicy
from burnish.policies.choose import ActionPolicy
from burnish.policies.native import native_network
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.observations import FEATURES, INLINING_FEATURES


def network_of(answerer: Answerer) -> _native.Network | None:
    """Return a native network with the policy's answers; None if only Python can run the policy.

    Raises:
        InputError: the shapes of the policy's arrays do not match, or a weight is not finite.
    """
    if not isinstance(answerer, Answers) or answerer.observations != (INLINING_FEATURES,):
        return None
    steps = answerer.steps
    return native_network(steps.policy) if is_perceptron(steps.policy) and not steps.as_dict else None


def is_perceptron(policy: ActionPolicy, features: int = len(FEATURES)) -> bool:
    """Return whether a policy is a perceptron on `features` inputs that chooses between the two answers."""
    return (
        isinstance(policy, ArraysPolicy)
        and policy.actions == ACTIONS
        and not policy.inputs.names
        and len(policy.encoder.mean) == features
    )
