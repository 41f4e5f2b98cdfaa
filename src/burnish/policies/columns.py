"""Matching of features by name: a policy for some columns takes observations with more, or another order.

`columns` on a policy's card lists the names, in the order of the network's inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from burnish.core.errors import InputError
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron
from burnish.policies.choose import ActionPolicy, Floats

COLUMNS = "columns"


def columns_of(policy: ActionPolicy) -> tuple[str, ...]:
    """Return the names of the features that a policy takes; empty if its card does not list them."""
    return tuple(policy.card.get(COLUMNS, ()))


def with_columns(policy: ActionPolicy, columns: Sequence[str]) -> ActionPolicy:
    """Return a policy that takes an observation of these columns, by name; it ignores unknown columns.

    Raises:
        InputError: the observation lacks a column that the policy takes, or the policy's names do not match
            its inputs.
    """
    own = columns_of(policy)
    if not own or own == tuple(columns):
        return policy
    lacking = [name for name in own if name not in columns]
    if lacking:
        raise InputError(
            f"the policy takes {len(own)} features, but {len(lacking)} of them are missing: "
            f"{', '.join(lacking)}; use another version of the compiler, or train the policy again"
        )
    if not isinstance(policy, ArraysPolicy):
        raise InputError(
            f"the policy takes {len(own)} features, in the order of its card, but there are "
            f"{len(columns)}; only policies of arrays (.npz) choose features by name"
        )
    if len(own) != len(policy.encoder.mean) or len(set(own)) != len(own):
        raise InputError(
            f"the card has {len(own)} columns for {len(policy.encoder.mean)} features; expected one "
            "different column for each"
        )
    places = [list(columns).index(name) for name in own]
    other = policy.critic_encoder
    return replace(
        policy,
        encoder=_spread(policy.encoder, places, len(columns)),
        critic_encoder=None if other is None else _spread(other, places, len(columns)),
        card={**policy.card, COLUMNS: list(columns)},
    )


def _spread(network: Perceptron, places: list[int], count: int) -> Perceptron:
    first = network.layers[0]
    blocks = np.split(first.weight, 1 if network.boundaries is None else 4)
    weight = np.concatenate([_rows(block, places, count, 0.0) for block in blocks])
    return replace(
        network,
        mean=_rows(network.mean, places, count, 0.0),
        deviation=_rows(network.deviation, places, count, 1.0),
        layers=(Linear(weight, first.bias, first.norm_weight, first.norm_bias), *network.layers[1:]),
        boundaries=None if network.boundaries is None else _rows(network.boundaries, places, count, 0.0),
    )


def _rows(array: Floats, places: list[int], count: int, empty: float) -> Floats:
    """Return float32[count, ...] with the array's rows at `places`, and `empty` elsewhere."""
    spread: Floats = np.full((count, *array.shape[1:]), empty, dtype=np.float32)
    spread[places] = array
    return spread
