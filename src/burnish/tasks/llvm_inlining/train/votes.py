"""Votes of several perceptrons, as one perceptron.

Each member votes by its difference d = log p(inline) - log p(leave), cut off at a full vote of either sign.
The mean vote decides if it is above a threshold, either way; else LLVM's heuristic at -Oz does. Rectified
units compute the vote: the members' layers side by side, then two units for each vote, then one for each
answer. So a vote is stored, exported and served like every other perceptron.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from burnish.core.errors import InputError
from burnish.learning.agents.policy import FlatHead, Policy
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.tasks.llvm_inlining.policy.features_alone import HEURISTIC_WIDTH, OZ_THRESHOLD

SURE = 50.0  # times the mean vote's excess is the difference of the logits; the heuristic's answer has 1
DECISION_UNITS = 3  # votes to inline, votes to leave, the heuristic's answer


def voting_widths(members: int, config: MLPConfig, *, sees_vectors: bool = False) -> tuple[int, ...]:
    """Return the hidden layers' widths of a vote, from one member's layers.

    Raises:
        InputError: the first layer does not compute the heuristic's answer, or has no unit for vectors.
    """
    first, *rest = config.hidden
    if first < HEURISTIC_WIDTH + sees_vectors or not rest:
        which = f"{HEURISTIC_WIDTH} units or more" + ", and more for the vectors" * sees_vectors
        raise InputError(
            f"network.hidden: expected two layers or more for a vote, the first of {which}, "
            f"which compute the heuristic's answer; not {list(config.hidden)}"
        )
    if config.scale != "log1p" or config.layer_norm:
        raise InputError(
            "network: a vote needs the scale 'log1p' and no layer_norm; algorithm.fit.members=0 has none"
        )
    own = members * (first - HEURISTIC_WIDTH)
    return HEURISTIC_WIDTH + own, *(members * width + 1 for width in rest), 2 * members + 1, DECISION_UNITS


def vote(policy: Policy, members: Sequence[Policy], *, full: float, needed: float) -> None:
    """Set a policy's weights to those of its members' vote.

    Args:
        policy: Has the widths of `voting_widths`.
        members: Perceptrons whose first units are equal and compute the heuristic's answer.
        full: The difference of a member's logits from which its vote is a full one.
        needed: The mean vote, in full ones, above which it decides; 1: the heuristic always does.
    """
    layers = [layers_of(member) for member in members]
    count, shared = len(members), HEURISTIC_WIDTH
    firsts = [weight for (weight, _), *_ in layers]
    assert all(torch.equal(first[:shared], firsts[0][:shared]) for first in firsts)
    weights = [torch.cat([firsts[0][:shared], *(first[shared:] for first in firsts)])]
    biases = [torch.cat([layers[0][0][1][:shared], *(one[0][1][shared:] for one in layers)])]

    step = float(np.log1p(OZ_THRESHOLD) - np.log1p(OZ_THRESHOLD - 1))
    second = [weight for _, (weight, _), *_ in layers]
    leave = torch.zeros((1, shared))
    leave[0, -2:] = torch.tensor([1.0, -1.0]) / step  # 1 from the threshold on, else 0
    columns = torch.cat([*(weight[:, :shared] for weight in second), leave])
    own = torch.block_diag(*(weight[:, shared:] for weight in second), torch.zeros((1, 0)))
    weights.append(torch.cat([columns, own], dim=1))
    one = torch.ones((1, 1))
    for level in range(2, len(layers[0]) - 1):
        weights.append(torch.block_diag(*(each[level][0] for each in layers), one))
    for level in range(1, len(layers[0]) - 1):
        biases.append(torch.cat([*(each[level][1] for each in layers), torch.zeros(1)]))

    differences = [weight[1:] - weight[:1] for *_, (weight, _) in layers]
    weights.append(torch.block_diag(*(difference.repeat(2, 1) for difference in differences), one))
    cuts = torch.tensor([full, -full])
    biases.append(torch.cat([*(bias[1] - bias[0] + cuts for *_, (_, bias) in layers), torch.zeros(1)]))

    # The mean of (first unit - second unit - full) / full, over members, is above `needed`, or below -needed.
    mean = torch.tensor([1.0, -1.0]).repeat(count) / (count * full)
    weights.append(torch.block_diag(torch.stack([mean, -mean]), one))
    biases.append(torch.tensor([-1.0 - needed, 1.0 - needed, 0.0]))

    weights.append(torch.tensor([[0.0, 0.0, 0.0], [SURE, -SURE, -2.0]]))
    biases.append(torch.tensor([0.0, 1.0]))

    with torch.no_grad():
        for (weight, bias), found, shift in zip(layers_of(policy), weights, biases, strict=True):
            weight.copy_(found)
            bias.copy_(shift)
        given, of_member = (dict(one.encoder.named_buffers()) for one in (policy, members[0]))
        for name, values in given.items():  # means and deviations of the features
            values.copy_(of_member[name])


def layers_of(policy: Policy) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return the weight and bias of each of a perceptron's layers, which can be changed; the head's last."""
    assert isinstance(policy.encoder, MLP)
    assert isinstance(policy.head, FlatHead)
    linear = [layer for layer in policy.encoder.layers if isinstance(layer, torch.nn.Linear)]
    return [(layer.weight.data, layer.bias.data) for layer in (*linear, policy.head.logits)]
