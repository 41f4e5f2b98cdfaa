"""Policies whose network is a perceptron: plain arrays that numpy runs.

burnish.learning.agents.export writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.policies.batches import Features
from burnish.policies.choose import ILLEGAL, Floats, Mask, masked_log_softmax
from burnish.policies.npz import DAMAGE, read_archive, write_archive

FORMAT: Final = 1
ACTIVATIONS: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "tanh": np.tanh,
}
EPSILON: Final = np.float32(1e-5)  # of torch's LayerNorm


@dataclass(frozen=True, eq=False)
class Linear:
    """x @ weight + bias, then a layer norm if there is one."""

    weight: Floats  # [inputs, outputs]
    bias: Floats  # [outputs]
    norm_weight: Floats | None = None  # [outputs]
    norm_bias: Floats | None = None  # [outputs]

    def __call__(self, x: Floats) -> Floats:
        """Return float32[B, outputs] for float32[B, inputs]."""
        y: Floats = x @ self.weight + self.bias
        if self.norm_weight is not None and self.norm_bias is not None:
            y = y - y.mean(axis=1, keepdims=True)
            y = y / np.sqrt(np.square(y).mean(axis=1, keepdims=True) + EPSILON)
            y = y * self.norm_weight + self.norm_bias
        return y


@dataclass(frozen=True, eq=False)
class Perceptron:
    """A perceptron that scales and standardizes its features; an activation follows every layer.

    With boundaries, a feature becomes four numbers, as in ml-compiler-opt's feature_ops.py: q, q * q, the
    root of q, and the standardized feature. q is the share of the feature's boundaries that are not above
    it. The input is four blocks: q of all features, then q * q of all features, and so on.
    """

    log1p: bool  # scaled as sign(x) log(1 + |x|)
    mean: Floats  # [features]
    deviation: Floats  # [features]
    layers: tuple[Linear, ...]
    activation: str = "relu"  # one of ACTIVATIONS
    boundaries: Floats | None = None  # [features, steps], ascending, such as quantiles

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise InputError(f"activation is {self.activation!r}; expected one of {', '.join(ACTIVATIONS)}")
        if self.log1p and self.boundaries is not None:
            raise InputError("features are scaled by log1p or by boundaries, not by both")

    def __call__(self, features: Floats) -> Floats:
        """Return float32[B, width] for float32[B, features]."""
        activate = ACTIVATIONS[self.activation]
        x = self._scaled(features)
        for layer in self.layers:
            x = activate(layer(x))
        return x

    def _scaled(self, features: Floats) -> Floats:
        x = np.sign(features) * np.log1p(np.abs(features)) if self.log1p else features
        x = (x - self.mean) / self.deviation
        if self.boundaries is None:
            return x
        steps = self.boundaries.shape[1]
        below = [
            np.searchsorted(row, column, side="right")
            for row, column in zip(self.boundaries, features.T, strict=True)
        ]
        share = np.stack(below, axis=1).astype(np.float32) / np.float32(steps)
        return np.concatenate([share, share * share, np.sqrt(share), x], axis=1)


@dataclass(frozen=True, eq=False)
class ArraysPolicy:
    """A policy in numpy.

    If actions are factorised, log p(a) = log p(kind) + log p(a | kind). Then `kinds` scores the kinds, and
    `kind` int64[n] is the kind of each action.
    """

    actions: tuple[str, ...]
    inputs: Features
    encoder: Perceptron
    head: Linear  # [width, n]
    kinds: Linear | None = None  # [width, kinds]
    kind: NDArray[np.int64] | None = None
    critic_encoder: Perceptron | None = None  # None: the critic takes the output of `encoder`
    critic: Linear | None = None  # [width, 1]
    card: Mapping[str, Any] = field(default_factory=dict)  # metadata; see ActionPolicy

    def log_probs(self, observations: Sequence[Any], masks: Mask) -> Floats:
        """Return float32[B, n] for B observations; about ILLEGAL where the mask bool[B, n] is False."""
        return self._distribution(self.encoder(self.inputs.batch(observations)), masks)

    def evaluate(self, observations: Sequence[Any], masks: Mask) -> tuple[Floats, Floats]:
        """Return `log_probs` and the values float32[B].

        Raises:
            InputError: the policy has no critic.
        """
        if self.critic is None:
            raise InputError("this policy has no critic; it was trained or exported without one")
        features = self.inputs.batch(observations)
        vectors = self.encoder(features)
        of_critic = vectors if self.critic_encoder is None else self.critic_encoder(features)
        return self._distribution(vectors, masks), self.critic(of_critic)[:, 0]

    def _distribution(self, vectors: Floats, masks: Mask) -> Floats:
        logits = self.head(vectors)
        if self.kinds is None or self.kind is None:
            return masked_log_softmax(logits, masks)
        members = self._members  # [kinds, n]
        legal: Mask = masks[:, None, :] & members
        of_kind = masked_log_softmax(self.kinds(vectors), np.any(legal, axis=2))
        given_kind = masked_log_softmax(np.broadcast_to(logits[:, None, :], legal.shape), legal)
        numbers = np.arange(len(self.actions))
        log_probs: Floats = of_kind[:, self.kind] + given_kind[:, self.kind, numbers]
        return np.where(masks, log_probs, np.float32(ILLEGAL))

    @cached_property
    def _members(self) -> Mask:
        assert self.kinds is not None
        members: Mask = np.arange(len(self.kinds.bias))[:, None] == self.kind
        return members


def save_arrays(policy: ArraysPolicy, path: Path) -> None:
    """Write a policy to a file."""
    arrays: dict[str, NDArray[Any]] = {
        **_of_perceptron("encoder", policy.encoder),
        **_of("head", policy.head),
    }
    if policy.kinds is not None and policy.kind is not None:
        arrays |= {**_of("kinds", policy.kinds), "kind": policy.kind}
    if policy.critic is not None:
        arrays |= _of("critic", policy.critic)
    if policy.critic_encoder is not None:
        arrays |= _of_perceptron("critic_encoder", policy.critic_encoder)
    rest = {
        "format": FORMAT,
        "actions": policy.actions,
        "names": policy.inputs.names,
        "log1p": policy.encoder.log1p,
        "activation": policy.encoder.activation,
        "card": policy.card,
    }
    write_archive(path, arrays, rest)


def load_arrays(path: Path) -> ArraysPolicy:
    """Read a policy that `save_arrays` wrote.

    Raises:
        InputError: the file is not such a policy, or its format has another version.
    """
    try:
        arrays, rest = read_archive(path, FORMAT)
        like = bool(rest["log1p"]), str(rest.get("activation", "relu"))
        return ArraysPolicy(
            actions=tuple(rest["actions"]),
            inputs=Features(tuple(rest["names"])),
            encoder=_perceptron("encoder", arrays, *like),
            head=_linear("head", arrays),
            kinds=_linear("kinds", arrays) if "kind" in arrays else None,
            kind=arrays.get("kind"),
            critic_encoder=(
                _perceptron("critic_encoder", arrays, *like) if "critic_encoder.mean" in arrays else None
            ),
            critic=_linear("critic", arrays) if "critic.weight" in arrays else None,
            card=rest["card"],
        )
    except DAMAGE as error:
        raise InputError(f"{path}: not a policy of arrays: {error}") from None


def _of(name: str, layer: Linear) -> dict[str, NDArray[Any]]:
    return {f"{name}.{key}": value for key, value in vars(layer).items() if value is not None}


def _of_perceptron(name: str, network: Perceptron) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {f"{name}.mean": network.mean, f"{name}.deviation": network.deviation}
    if network.boundaries is not None:
        arrays[f"{name}.boundaries"] = network.boundaries
    for number, layer in enumerate(network.layers):
        arrays |= _of(f"{name}.{number}", layer)
    return arrays


def _linear(name: str, arrays: Mapping[str, Any]) -> Linear:
    return Linear(
        arrays[f"{name}.weight"],
        arrays[f"{name}.bias"],
        arrays.get(f"{name}.norm_weight"),
        arrays.get(f"{name}.norm_bias"),
    )


def _perceptron(name: str, arrays: Mapping[str, Any], log1p: bool, activation: str) -> Perceptron:
    count = sum(f"{name}.{number}.weight" in arrays for number in range(len(arrays)))
    layers = tuple(_linear(f"{name}.{number}", arrays) for number in range(count))
    mean, deviation = arrays[f"{name}.mean"], arrays[f"{name}.deviation"]
    return Perceptron(log1p, mean, deviation, layers, activation, arrays.get(f"{name}.boundaries"))
