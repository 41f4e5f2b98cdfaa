"""An actor as one stack of layers, for exports: to the native core, C and ONNX."""

from __future__ import annotations

import numpy as np

from burnish.core.errors import InputError
from burnish.policies.arrays import ArraysPolicy, Linear


def layers_of(policy: ArraysPolicy) -> tuple[Linear, ...]:
    """Return the layers of a policy's actor; the last layer's outputs are the logits of the actions.

    Raises:
        InputError: the actions are factorised, and a kind has several actions.
    """
    head = policy.head
    if policy.kinds is not None and policy.kind is not None:
        if len(np.unique(policy.kind)) < len(policy.kind):
            raise InputError(
                "expected a policy that chooses an action in one step; this one chooses a kind of "
                "action first"
            )
        head = Linear(policy.kinds.weight[:, policy.kind], policy.kinds.bias[policy.kind])
    return (*policy.encoder.layers, head)
