"""Fitting of a policy to the gains of single answers.

Let d be the gain of inlining over leaving the call, in units of the objective. The difference of the policy's
two logits predicts sign(d) log(1 + |d|): a few calls decide about kilobytes, most about instructions. A
margin is added in favour of the heuristic's answer, so the policy deviates only for a sufficient gain.

How large a gain suffices is not the same everywhere. Several networks, each fitted to modules that are drawn
with repetition (bagging: Breiman 1996), differ where the answers that were tried say little. The policy is
fitted to the bound that they are sure of: pessimism, as in offline learning (Jin, Yang and Wang 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from burnish.core.errors import InputError
from burnish.learning.agents import optimizers
from burnish.learning.agents.export import from_arrays, to_arrays
from burnish.learning.agents.learner import check_ranges, descend, generator, seeded_torch
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.mlp import MLP
from burnish.learning.training.standardize import standardize
from burnish.policies.arrays import ArraysPolicy
from burnish.tasks.llvm_inlining.observations import (
    FEATURES,
    HEURISTIC,
    INLINED,
    INLINING_FEATURES,
    WOULD,
)
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, Observed, Rows, observations_of
from burnish.tasks.llvm_inlining.policy.features_alone import BOTH, HEURISTIC_WIDTH, on_features_alone

FARTHEST = 4.0  # of a bound from 0: farther away, it would say only how little is known


@dataclass(frozen=True)
class FittingConfig:
    """Settings of the fit."""

    warm_epochs: int = 0  # first, on all questions, to the heuristic's own answers: the margin alone
    untried: float = 0.0  # of the questions that were not tried, as many as of those that were, times this
    epochs: int = 80
    batch: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    margin: float = 0.5  # in favour of the heuristic, on the scale of log(1 + |d|)
    max_gradient_norm: float = 1.0
    members: int = 0  # networks that are fitted first, without a margin; the policy is fitted to their bound
    doubt: float = 2.0  # the bound's distance from the members' mean, in their standard deviations

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of its range."""
        whole = dict.fromkeys(("epochs", "batch"), (1, np.inf)) | {"warm_epochs": (0, np.inf)}
        whole |= {"members": (0, np.inf)}
        rest = ("learning_rate", "weight_decay", "margin", "untried", "max_gradient_norm", "doubt")
        check_ranges(self, **whole, **dict.fromkeys(rest, (0.0, np.inf)))


@dataclass(frozen=True)
class Judged:
    """N questions, and the gains of inlining there."""

    rows: Rows  # of N questions
    gains: NDArray[np.float64]  # [N]: scaled gain of inlining over leaving, with the margin

    def __len__(self) -> int:
        return len(self.gains)


def judged(tables: Sequence[Decisions], margin: float) -> Judged:
    """Return all tried answers as one table.

    Raises:
        InputError: no answer was tried.
    """
    rows = np.concatenate([one.rows[one.tried] for one in tables] or [np.zeros((0, 43), dtype=np.int64)])
    changes = np.concatenate([one.changes[one.tried] for one in tables] or [np.zeros(0)])
    if not len(rows):
        raise InputError("no answer was tried: there are no modules in which LLVM asks")
    # A change is the additional cost of the other answer.
    more = np.where(rows[:, INLINED] == 1, changes, -changes)
    gains = np.sign(more) * np.log1p(np.abs(more)) + margin * (2 * rows[:, WOULD] - 1)
    return Judged(rows, gains)


def undecided(rows: Rows, margin: float) -> Judged:
    """Return questions as if both answers cost the same: the margin in the heuristic's favour."""
    gains = np.asarray(margin * (2 * rows[:, WOULD] - 1), dtype=np.float64)
    return Judged(rows, gains)


def with_untried(data: Judged, tables: Sequence[Decisions], config: FittingConfig, *, seed: int) -> Judged:
    """Return the tried questions with `config.untried` times as many that were not, as if undecided.

    A few tried questions do not hold a network to the heuristic's answers elsewhere.
    """
    rows = np.concatenate([one.rows[~one.tried] for one in tables])
    drawn = np.random.default_rng(seed).permutation(len(rows))[: int(config.untried * len(data))]
    more = undecided(rows[drawn], config.margin)
    return Judged(np.concatenate([data.rows, more.rows]), np.concatenate([data.gains, more.gains]))


def begin(policy: Policy, rows: Rows, observation: Observed = INLINING_FEATURES, *, seed: int) -> None:
    """Standardize a new policy's inputs by questions.

    If the first layer has HEURISTIC_WIDTH units or more, and the features are the first inputs, these units
    begin as the layer that computes the heuristic's answer: a few thousand questions do not teach a network
    the heuristic's threshold. All other inputs and units begin without a say in the second layer.
    """
    encoder = policy.encoder
    standardize(encoder, observations_of(rows, observation))
    if not isinstance(encoder, MLP) or encoder.config.scale != "log1p" or encoder.config.layer_norm:
        return
    first, *rest = encoder.config.hidden
    leads = observation == INLINING_FEATURES or observation[0] == INLINING_FEATURES
    if first < HEURISTIC_WIDTH or not rest or not leads:
        return
    with seeded_torch(seed, 0):
        seeing = MLP(replace(encoder.config, hidden=tuple(rest)), len(FEATURES) + 1 + len(HEURISTIC), BOTH)
        both = Policy(seeing, policy.actions, critic="none")
    seeing.standardize(observations_of(rows, BOTH))
    arrays = to_arrays(both, {"observation": list(BOTH)})
    alone = on_features_alone(arrays)
    assert isinstance(alone, ArraysPolicy)
    state = policy.state_dict()
    for name, known in from_arrays(alone).items():
        if name in state:
            state[name] = _with_leading(state[name], known)
    policy.load_state_dict(state)


def _with_leading(larger: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
    """Return a tensor with a known leading block; known rows of a matrix are 0 elsewhere."""
    changed = larger.clone()
    rows = len(known)
    if known.dim() == 2:
        changed[:rows] = 0
        changed[:rows, : known.shape[1]] = known
    else:
        changed[:rows] = known
    return changed


class Fitting:
    """A policy, and the state of its fit."""

    def __init__(
        self,
        policy: Policy,
        data: Judged,
        config: FittingConfig,
        observation: Observed = INLINING_FEATURES,
        *,
        seed: int,
    ) -> None:
        self.policy, self.config, self.seed = policy, config, seed
        self.epochs = 0
        self.optimizer = optimizers.AdamW(
            policy.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self._batch = policy.collate(observations_of(data.rows, observation))
        self._gains = torch.tensor(data.gains, dtype=torch.float32)

    def fit(self, epochs: int) -> dict[str, float]:
        """Fit for some epochs; return the last epoch's mean loss and its share of correct signs."""
        loss = agreement = 0.0
        self.policy.train()
        for _ in range(epochs):
            self.epochs += 1
            loss = agreement = 0.0
            order = torch.from_numpy(generator(self.seed, self.epochs, 0).permutation(len(self._gains)))
            with seeded_torch(self.seed, self.epochs):
                for chosen in order.split(self.config.batch):
                    gains = self._gains[chosen]
                    found = difference(self.policy, self._batch[chosen])
                    value = nn.functional.huber_loss(found, gains)
                    descend(self.optimizer, value, self.policy, max_norm=self.config.max_gradient_norm)
                    loss += value.item() * len(chosen)
                    agreement += float(((found > 0) == (gains > 0)).sum())
        self.policy.eval()
        return {"loss/fit": loss / len(self._gains), "agreement": agreement / len(self._gains)}

    def state_dict(self) -> dict[str, Any]:
        """Return the state from which a fit to the same answers can continue."""
        parts = {"policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict()}
        return parts | {"epochs": self.epochs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another fit."""
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epochs = state["epochs"]


def difference(policy: Policy, batch: torch.Tensor) -> torch.Tensor:
    """Return log p(inline) - log p(leave) for some rows: float32[B]."""
    mask = torch.ones((len(batch), len(policy.actions)), dtype=torch.bool)
    log_probs = policy.log_probs(batch, mask)
    return log_probs[:, 1] - log_probs[:, 0]


def fit_members(
    new: Callable[[int], Policy],
    tables: Sequence[Decisions],
    config: FittingConfig,
    observation: Observed = INLINING_FEATURES,
    *,
    seed: int,
    note: Callable[[str], None],
) -> list[Policy]:
    """Return networks, each fitted to the tried answers of modules drawn with repetition, without a margin.

    Args:
        new: Returns a network that is not fitted, from a seed.
        tables: The modules' decisions.
        config: Settings; `members` is the number of networks.
        observation: What they observe.
        seed: Of all draws.
        note: Is called with a line about each one.

    Raises:
        InputError: no answer was tried.
    """
    asked = np.concatenate([one.rows for one in tables])
    judgeable = [one for one in tables if one.tried.any()] or tables
    config = replace(config, margin=0.0)
    members = []
    for number in range(config.members):
        note(f"fitting network {number + 1} of {config.members} to the tried answers")
        own_seed = generator(seed, number, 0)
        drawn = [judgeable[i] for i in own_seed.integers(len(judgeable), size=len(judgeable))]
        member = new(seed + number)
        begin(member, asked, observation, seed=seed + number)
        data = with_untried(judged(drawn, 0.0), drawn, config, seed=seed + number)
        Fitting(member, data, config, observation, seed=seed + number).fit(config.epochs)
        members.append(member)
    return members


@torch.no_grad()
def sure_of(
    members: Sequence[Policy], rows: Rows, doubt: float, observation: Observed = INLINING_FEATURES
) -> Judged:
    """Return questions with the gain of inlining that networks are sure of.

    That is their mean, and `doubt` of their standard deviations toward the heuristic's answer.
    """
    batch = members[0].collate(observations_of(rows, observation))
    found = np.stack([difference(member, batch).numpy() for member in members]).astype(np.float64)
    toward = doubt * found.std(axis=0) * (2 * rows[:, WOULD] - 1)
    return Judged(rows, np.clip(found.mean(axis=0) + toward, -FARTHEST, FARTHEST))
