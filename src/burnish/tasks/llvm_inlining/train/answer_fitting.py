"""Fitting of a policy to the gains of single answers.

Let d be the gain of inlining over leaving the call, in units of the objective. The difference of the policy's
two logits predicts sign(d) log(1 + |d|): a few calls decide about kilobytes, most about instructions. A
margin is added in favour of the heuristic's answer, so the policy deviates only for a sufficient gain.

How large a gain suffices is not the same everywhere. So several networks can be fitted, each to modules that
are drawn with repetition (bagging: Breiman 1996). They differ where the answers that were tried say little;
what they agree on holds in other projects, too. See votes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
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


@dataclass(frozen=True)
class FittingConfig:
    """Settings of the fit."""

    warm_epochs: int = 0  # first, on all questions, to the heuristic's own answers: the margin alone
    epochs: int = 80
    batch: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    margin: float = 0.5  # in favour of the heuristic, on the scale of log(1 + |d|)
    max_gradient_norm: float = 1.0
    members: int = 0  # networks that vote, fitted without a margin; 0: the policy itself is fitted
    full_vote: float = 0.25  # difference of a member's logits from which its vote is a full one
    needed: tuple[float, ...] = (1.0, 0.8, 0.6, 0.5, 0.4)  # mean votes to try; 1: the heuristic only

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of its range."""
        whole = dict.fromkeys(("epochs", "batch"), (1, np.inf)) | {"warm_epochs": (0, np.inf)}
        whole |= {"members": (0, np.inf)}
        rest = ("learning_rate", "weight_decay", "margin", "max_gradient_norm", "full_vote")
        check_ranges(self, **whole, **dict.fromkeys(rest, (0.0, np.inf)))
        if not self.needed or not all(0.0 <= mean <= 1.0 for mean in self.needed):
            raise InputError(f"FittingConfig.needed: expected mean votes from 0 to 1, not {self.needed!r}")
        if self.members and not self.full_vote:
            raise InputError("FittingConfig.full_vote: expected a number above 0, not 0.0")


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
        fixed: int = 0,
    ) -> None:
        """Begin a fit in which the first `fixed` units of the first layer do not change."""
        self.policy, self.config, self.seed = policy, config, seed
        self.epochs = 0
        groups: list[dict[str, Any]] = [{"params": list(policy.parameters())}]
        if fixed:
            assert isinstance(policy.encoder, MLP)
            first = list(policy.encoder.layers[0].parameters())
            for values in first:
                values.register_hook(partial(_without, fixed))
            rest = [one for one in policy.parameters() if all(one is not values for values in first)]
            groups = [{"params": first, "weight_decay": 0.0}, {"params": rest}]
        self.optimizer = optimizers.AdamW(groups, lr=config.learning_rate, weight_decay=config.weight_decay)
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


def _without(units: int, gradient: torch.Tensor) -> torch.Tensor:
    """Return a gradient that is 0 for the first units."""
    changed = gradient.clone()
    changed[:units] = 0
    return changed


def difference(policy: Policy, batch: torch.Tensor) -> torch.Tensor:
    """Return log p(inline) - log p(leave) for some rows: float32[B]."""
    mask = torch.ones((len(batch), len(policy.actions)), dtype=torch.bool)
    log_probs = policy.log_probs(batch, mask)
    return log_probs[:, 1] - log_probs[:, 0]


def fit_member(
    member: Policy,
    tables: Sequence[Decisions],
    config: FittingConfig,
    observation: Observed = INLINING_FEATURES,
    *,
    seed: int,
) -> dict[str, float]:
    """Fit a new network to the tried answers of modules drawn with repetition, without a margin.

    Its first HEURISTIC_WIDTH units stay as they begin: members share them.

    Returns:
        The last epoch's mean loss and its share of correct signs.

    Raises:
        InputError: no answer was tried.
    """
    config = replace(config, margin=0.0)
    begin(member, np.concatenate([one.rows for one in tables]), observation, seed=seed)
    judgeable = [one for one in tables if one.tried.any()] or tables
    drawn = generator(seed, 0, 0).integers(len(judgeable), size=len(judgeable))
    own = [judgeable[i] for i in drawn]
    fitting = Fitting(member, judged(own, 0.0), config, observation, seed=seed, fixed=HEURISTIC_WIDTH)
    return fitting.fit(config.epochs)
