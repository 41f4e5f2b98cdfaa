"""Policies that observe LLVM's heuristic, as policies on LLVM's features alone.

At -Oz, in functions with `minsize`, the heuristic inlines a call if its cost is below OZ_THRESHOLD. The
feature `cost_estimate` is that cost, counted to the end. So the answer is a function of the features: it was
equal at all of 13,413 questions of 138 modules. The heuristic's own cost stops at the threshold, so the
features do not determine it; min(cost_estimate, threshold) stands for it. A layer of rectified units in front
of the network computes both. At other levels the threshold depends on more than the features.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from burnish.core.errors import InputError
from burnish.policies.arrays import ArraysPolicy, Linear
from burnish.policies.batches import Features
from burnish.policies.choose import ActionPolicy, Floats
from burnish.policies.columns import COLUMNS
from burnish.tasks.llvm_inlining.observations import (
    ESTIMATE,
    FEATURES,
    HEURISTIC,
    HEURISTIC_ANSWER,
    INLINING_FEATURES,
)

OZ_THRESHOLD = 5  # InlineConstants::OptMinSizeThreshold, llvm/Analysis/InlineCost.h
BOTH = (INLINING_FEATURES, HEURISTIC_ANSWER)
_ASKED = ("asked", *HEURISTIC)
_COUNT = len(FEATURES)
HEURISTIC_WIDTH = 2 * _COUNT + 2
"""Units of the layer that computes the heuristic's answer."""


def on_features_alone(policy: ActionPolicy) -> ActionPolicy:
    """Return a policy that computes the heuristic's answer at -Oz, if it observes the answer; else the same.

    Raises:
        InputError: the policy observes more than the features and the heuristic, was trained for another
            level than -Oz, or is not a perceptron of rectified units on unscaled or logarithmic features.
    """
    observed = policy.card.get("observation", INLINING_FEATURES)
    if observed == INLINING_FEATURES:
        return policy
    if isinstance(observed, str) or tuple(observed) != BOTH:
        raise InputError(
            f"the policy observes {observed!r}; expected LLVM's features alone, or, over a compiler's "
            "channel, with the vectors of callee and caller; train one with the observation "
            f"{INLINING_FEATURES!r}, the default of burnish train inlining-credit"
        )
    fits = (
        isinstance(policy, ArraysPolicy)
        and policy.inputs.names == BOTH
        and policy.card.get("reference", "Oz") == "Oz"
        and policy.encoder.activation == "relu"
        and policy.encoder.boundaries is None
    )
    if not fits:
        raise InputError(
            "the policy observes LLVM's heuristic, whose answer is computed from LLVM's features only at "
            "-Oz, for perceptrons of relu without quantiles; train the policy again: the configurations of "
            "burnish train observe the features alone"
        )
    assert isinstance(policy, ArraysPolicy)
    network = policy.encoder
    own = replace(
        network,
        mean=network.mean[:_COUNT],
        deviation=network.deviation[:_COUNT],
        layers=(*_computed(policy), *network.layers[1:]),
    )
    card = {**policy.card, "observation": INLINING_FEATURES, COLUMNS: list(FEATURES)}
    return replace(policy, inputs=Features(), encoder=own, critic=None, critic_encoder=None, card=card)


def _computed(policy: ArraysPolicy) -> tuple[Linear, Linear]:
    """Return two layers for the first one: rectified units, and the layer on what they make up.

    The units are the positive and the negative part of each standardized feature; the part of the cost's
    logarithm above that of 4, and above that of 5, the threshold.
    """
    network, last = policy.encoder, policy.encoder.layers[0]

    def scaled(value: float) -> float:
        return float(np.log1p(value)) if network.log1p else float(value)

    below, at = scaled(OZ_THRESHOLD - 1), scaled(OZ_THRESHOLD)
    mean, deviation = float(network.mean[ESTIMATE]), float(network.deviation[ESTIMATE])
    units: Floats = np.zeros((_COUNT, HEURISTIC_WIDTH), dtype=np.float32)
    bias: Floats = np.zeros(HEURISTIC_WIDTH, dtype=np.float32)
    units[:, :_COUNT], units[:, _COUNT:-2] = np.eye(_COUNT), -np.eye(_COUNT)
    units[ESTIMATE, -2:] = deviation
    bias[-2:] = mean - below, mean - at

    of_features, of_heuristic = last.weight[:_COUNT], dict(zip(_ASKED, last.weight[_COUNT:], strict=True))
    means = dict(zip(_ASKED, network.mean[_COUNT:], strict=True))
    deviations = dict(zip(_ASKED, network.deviation[_COUNT:], strict=True))
    each = {
        name: row / deviations[name] for name, row in of_heuristic.items()
    }  # by unit of the scaled column
    yes, step = scaled(1), at - below
    made: Floats = np.zeros((HEURISTIC_WIDTH, last.weight.shape[1]), dtype=np.float32)
    made[:_COUNT], made[_COUNT:-2] = of_features, -of_features
    # inline: yes, but 0 from the threshold on. cost: that of the estimate, but not above the threshold.
    made[-2] = -each["inline"] * yes / step
    made[-1] = each["inline"] * yes / step - each["cost"]
    made[ESTIMATE] += each["cost"] * deviation
    made[_COUNT + ESTIMATE] -= each["cost"] * deviation
    constants = {"asked": yes, "inline": yes, "weighed": yes, "cost": mean, "threshold": at}
    shift = sum(each[name] * (value - means[name]) for name, value in constants.items())
    return Linear(units, bias), Linear(
        made, (last.bias + shift).astype(np.float32), last.norm_weight, last.norm_bias
    )
