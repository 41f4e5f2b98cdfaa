"""Policies: networks from observations to a distribution over legal actions, and to values.

Algorithms receive log-probabilities float32[B, n] of the n actions from every kind of head.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.core.action import Action
from burnish.core.errors import InputError
from burnish.learning.agents.sums import SummedLogits
from burnish.learning.networks.encoder import Encoder
from burnish.learning.networks.mlp import orthogonal

ILLEGAL: Final = -1e9
"""Logit of an illegal action: its probability is exactly 0, and unlike with -inf no product is NaN."""

Head = Literal["flat", "summed", "factorised", "factorised-summed"]
Critic = Literal["none", "shared", "separate"]
Masks = NDArray[np.bool_] | Sequence[NDArray[np.bool_]] | Tensor


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Return log-probabilities over the last axis, about ILLEGAL where `mask`, of the same shape, is False.

    In a row without a legal action they are uniform: finite, but meaningless.
    """
    return torch.log_softmax(logits.masked_fill(~mask, ILLEGAL), dim=-1)


def entropy(log_probs: Tensor, mask: Tensor) -> Tensor:
    """Return the entropies float32[B], in nats, of distributions float32[B, n] with masks bool[B, n]."""
    terms = log_probs.exp() * log_probs
    return -torch.where(mask, terms, torch.zeros_like(terms)).sum(dim=-1)


def sample(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """Draw an action from each row of float32[B, n]: int64[B]; never one with a log-probability of ILLEGAL.

    The action with the largest sum of log-probability and Gumbel noise is drawn, because `torch.multinomial`
    may return an action of probability 0.
    """
    noise = torch.empty(log_probs.shape, device=generator.device).exponential_(generator=generator)
    gumbel = -noise.clamp_min(torch.finfo(noise.dtype).tiny).log()
    return (log_probs + gumbel.to(log_probs.device)).argmax(dim=-1)


class FlatHead(nn.Module):
    """A logit for each action."""

    def __init__(self, width: int, actions: Sequence[str]) -> None:
        super().__init__()
        self.logits: nn.Linear = orthogonal(nn.Linear(width, len(actions)), gain=0.01)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return log-probabilities float32[B, n] for vectors float32[B, width] and masks bool[B, n]."""
        return masked_log_softmax(self.logits(vectors), mask)


class SummedHead(nn.Module):
    """A logit for each kind of action and for each of its parameters; an action's logit is their sum."""

    def __init__(self, width: int, actions: Sequence[str]) -> None:
        super().__init__()
        self.logits = SummedLogits(width, actions)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return log-probabilities float32[B, n] for vectors float32[B, width] and masks bool[B, n]."""
        return masked_log_softmax(self.logits(vectors), mask)


class FactorisedHead(nn.Module):
    """First the kind, then its parameters: log p(a) = log p(kind of a) + log p(a | kind of a).

    Each action of a kind has its own logit, or with `summed` a sum of logits: see sums.py. Kinds without a
    legal action have probability 0. Kinds are in the order of their first action.
    """

    kind: Tensor  # int64[n]: kind of each action
    place: Tensor  # int64[n]: position of each action among the actions of its kind
    members: Tensor  # int64[kinds, most of a kind]: actions, padded with 0
    there: Tensor  # bool[kinds, most of a kind]: False for padding

    def __init__(self, width: int, actions: Sequence[str], *, summed: bool = False) -> None:
        super().__init__()
        groups: dict[str, list[int]] = {}
        for number, action in enumerate(actions):
            groups.setdefault(Action.parse(action).kind, []).append(number)
        self.kinds = tuple(groups)
        kind, place = torch.zeros(2, len(actions), dtype=torch.int64)
        members = torch.zeros(len(groups), max(map(len, groups.values())), dtype=torch.int64)
        there = torch.zeros(members.shape, dtype=torch.bool)
        for row, numbers in enumerate(groups.values()):
            kind[numbers] = row
            place[numbers] = torch.arange(len(numbers))
            members[row, : len(numbers)] = torch.tensor(numbers)
            there[row, : len(numbers)] = True
        for name, value in (("kind", kind), ("place", place), ("members", members), ("there", there)):
            self.register_buffer(name, value, persistent=False)  # not saved: computed from the actions
        self.kind_logits = orthogonal(nn.Linear(width, len(groups)), gain=0.01)
        self.action_logits: nn.Linear | SummedLogits = (
            SummedLogits(width, actions) if summed else orthogonal(nn.Linear(width, len(actions)), gain=0.01)
        )

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return log-probabilities float32[B, n] for vectors float32[B, width] and masks bool[B, n]."""
        legal = mask[:, self.members] & self.there  # [B, kinds, most]
        of_kind = masked_log_softmax(self.kind_logits(vectors), legal.any(dim=-1))
        given_kind = masked_log_softmax(self.action_logits(vectors)[:, self.members], legal)
        log_probs = of_kind[:, self.kind] + given_kind[:, self.kind, self.place]
        return log_probs.masked_fill(~mask, ILLEGAL)


HEADS: dict[str, Callable[[int, Sequence[str]], FlatHead | SummedHead | FactorisedHead]] = {
    "flat": FlatHead,
    "summed": SummedHead,
    "factorised": FactorisedHead,
    "factorised-summed": partial(FactorisedHead, summed=True),
}


class Policy(nn.Module):
    """An encoder, a head for actions, and optionally a critic.

    A shared critic is a head on the same vectors. A separate critic has its own encoder, which begins as a
    copy of the actor's.

    Attributes:
        started: Whether the weights are those of an earlier policy.
    """

    started = False

    def __init__(
        self,
        encoder: Encoder,
        actions: Sequence[str],
        *,
        head: Head = "flat",
        critic: Critic = "shared",
    ) -> None:
        """Make the heads.

        Raises:
            InputError: `actions` is empty, or the head or critic is unknown.
        """
        super().__init__()
        if not actions:
            raise InputError("a policy needs at least one action")
        if critic not in ("none", "shared", "separate"):
            raise InputError(f"critic: expected 'none', 'shared' or 'separate', not {critic!r}")
        if head not in HEADS:
            raise InputError(f"head: expected {', '.join(map(repr, HEADS))}, not {head!r}")
        self.actions = tuple(actions)
        self.encoder = encoder
        self.critic_encoder = copy.deepcopy(encoder) if critic == "separate" else None
        self.head: FlatHead | SummedHead | FactorisedHead = HEADS[head](encoder.width, actions)
        self.critic = None if critic == "none" else orthogonal(nn.Linear(encoder.width, 1), gain=1.0)

    def collate(self, observations: Sequence[Any]) -> Any:
        """Return the observations of B environments as a batch."""
        return self.encoder.collate(observations)

    def log_probs(self, batch: Any, mask: Tensor) -> Tensor:
        """Return log-probabilities float32[B, n] for a batch and masks bool[B, n]; False: about ILLEGAL."""
        log_probs: Tensor = self.head(self.encoder(batch), mask)
        return log_probs

    def values(self, batch: Any) -> Tensor:
        """Return the critic's values: float32[B].

        Raises:
            InputError: the policy has no critic.
        """
        return self._values(batch, None)

    def evaluate(self, batch: Any, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the results of `log_probs` and `values`; a shared encoder runs once.

        Raises:
            InputError: the policy has no critic.
        """
        vectors = self.encoder(batch)
        return self.head(vectors, mask), self._values(batch, vectors)

    def act(
        self, observations: Sequence[Any], masks: Masks, generator: torch.Generator | None = None
    ) -> Tensor:
        """Choose an action for each of B environments: int64[B]; without generator the most probable."""
        with torch.no_grad():
            log_probs = self.log_probs(self.collate(observations), as_mask(masks, self.encoder.device))
            return log_probs.argmax(dim=-1) if generator is None else sample(log_probs, generator)

    def _values(self, batch: Any, shared: Tensor | None) -> Tensor:
        if self.critic is None:
            raise InputError("this policy has no critic; make it with critic='shared' or 'separate'")
        if self.critic_encoder is not None:
            shared = self.critic_encoder(batch)
        elif shared is None:
            shared = self.encoder(batch)
        values: Tensor = self.critic(shared)
        return values.squeeze(-1)


class QNetwork(nn.Module):
    """An encoder, and a head with a value for each action."""

    def __init__(self, encoder: Encoder, actions: int) -> None:
        """Make the head for a number of actions."""
        super().__init__()
        self.encoder = encoder
        self.head = orthogonal(nn.Linear(encoder.width, actions), gain=1.0)

    def collate(self, observations: Sequence[Any]) -> Any:
        """Return the observations of B environments as a batch."""
        return self.encoder.collate(observations)

    def forward(self, batch: Any) -> Tensor:
        """Return the values of all actions, also illegal ones: float32[B, n]."""
        values: Tensor = self.head(self.encoder(batch))
        return values

    def act(
        self,
        observations: Sequence[Any],
        masks: Masks,
        generator: torch.Generator | None = None,
        *,
        epsilon: float = 0.0,
    ) -> Tensor:
        """Choose the legal action of the largest value for each of B environments: int64[B].

        With a generator, choose a random legal action with probability `epsilon`.
        """
        with torch.no_grad():
            mask = as_mask(masks, self.encoder.device)
            best = self(self.collate(observations)).masked_fill(~mask, -torch.inf).argmax(dim=-1)
            if generator is None:
                return torch.as_tensor(best)
            explore = torch.rand(best.shape, generator=generator, device=generator.device) < epsilon
            uniform = sample(masked_log_softmax(torch.zeros(mask.shape, device=mask.device), mask), generator)
            return torch.where(explore.to(mask.device), uniform, best)


def as_mask(masks: Masks, device: torch.device) -> Tensor:
    """Return the masks of B environments as bool[B, n] on a device."""
    rows = masks if isinstance(masks, Tensor) else torch.from_numpy(np.asarray(masks, dtype=bool))
    return rows.to(device)
