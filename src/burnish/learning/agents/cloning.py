"""Behaviour cloning: learn to choose what a search chose (Pomerleau 1989).

The loss is the cross-entropy of the demonstrated actions among the legal ones. Whole programs are held out,
and where the loss on them no longer falls, training ends with the parameters that were best. MLGO (Trofin et
al. 2021) begins with it; the critic that policy gradients go on with can be prepared, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from burnish.core.errors import InputError
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.demonstrations import Demonstration, DemonstrationStep, record
from burnish.learning.agents.learner import check_algorithm, check_ranges, descend, generator, seeded_torch
from burnish.learning.agents.policy import Policy, as_mask

MOST = 0.95  # of a share that must not be all


@dataclass(frozen=True)
class CloningConfig:
    """How to imitate."""

    learning_rate: float = 1e-3
    weight_decay: float = 0.0  # AdamW's
    batch_size: int = 256
    max_gradient_norm: float = 1.0
    dropout: float = 0.0  # of what the encoder returns, while training; MLGO has 0.2
    label_smoothing: float = 0.0  # the share that all legal actions get
    weighting: Literal["none", "gain"] = "none"
    """gain: a step counts as much as its demonstration gains over its reference; 0 if it gains nothing."""
    value_weight: float = 0.0  # of the critic's squared error, whose target is the return to go
    validation_share: float = 0.1  # of the programs
    patience: int = 10  # epochs without a better validation loss until training ends; 0: never

    def __post_init__(self) -> None:
        """Raise InputError for what cannot be."""
        shares = dict.fromkeys(("dropout", "label_smoothing", "validation_share"), (0.0, MOST))
        rest = ("learning_rate", "weight_decay", "max_gradient_norm", "value_weight", "patience")
        check_ranges(self, batch_size=(1, np.inf), **shares, **dict.fromkeys(rest, (0.0, np.inf)))
        if self.weighting not in ("none", "gain"):
            raise InputError(f"weighting: expected 'none' or 'gain', not {self.weighting!r}")


class Cloning:
    """A Learner whose iteration is one epoch over all demonstrated steps.

    `policy` is the one that is trained; when `finished`, with the best parameters that it had.
    """

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: CloningConfig | None = None,
        *,
        seed: int,
        demonstrations: Sequence[Demonstration],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Replay the demonstrations in the environments, which are not used any more then.

        Args:
            envs: What the demonstrations are replayed in; they decide what is observed.
            make_policy: Makes a new policy.
            config: How to imitate.
            seed: Of what is held out, of the order and of dropout.
            demonstrations: What to imitate; see `best_demonstrations` where there are several experts.
            progress: Told how many demonstrations are replayed.

        Raises:
            InputError: there is nothing to imitate, all is held out, or a setting is out of range.
        """
        self.envs = envs
        self.config = config = config or CloningConfig()
        self.seed = seed
        recording = record(envs.envs, demonstrations, progress)
        self.failures = recording.failures  # demonstrations that were left out, and why
        with seeded_torch(seed, 0):
            self.policy = make_policy()
        held_out = validation_programs(recording.steps, config.validation_share, seed)
        self._train = [step for step in recording.steps if step.program not in held_out]
        self._validation = [step for step in recording.steps if step.program in held_out]
        self._weights = step_weights(self._train, config.weighting)
        self._demonstrations = len({step.program for step in self._train})
        self.optimizer = torch.optim.AdamW(
            self.policy.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.epochs = self.steps = self._stale = 0
        self._best_loss = float("inf")
        self._best = copy.deepcopy(self.policy.state_dict())
        self.finished = False

    def iterate(self) -> dict[str, float]:
        """Train for an epoch; once it is finished, only measure.

        Metrics: "steps" (that were trained on, in total), "episodes" (demonstrations, in total),
        "loss/train", "loss/value" and "accuracy/train" while the epoch went on, "loss/validation" and
        "accuracy/validation" after it, "finished" (0 or 1).
        """
        metrics = {} if self.finished else self._train_epoch()
        if self._validation:
            metrics |= self._validate()
            if not self.finished:
                self._stop_early(metrics["loss/validation"])
        counts = {
            "steps": self.steps,
            "episodes": self.epochs * self._demonstrations,
            "finished": self.finished,
        }
        return {name: float(value) for name, value in counts.items()} | metrics

    def state_dict(self) -> dict[str, Any]:
        """See Learner; the demonstrations are not in it."""
        return {
            "algorithm": "cloning",
            "policy": self.policy.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "best": self._best,
            "best_loss": self._best_loss,
            "counters": [self.epochs, self.steps, self._stale, self.finished],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See Learner."""
        check_algorithm(state, "cloning")
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])
        self._best = copy.deepcopy(state["best"])
        self._best_loss = state["best_loss"]
        self.epochs, self.steps, self._stale, self.finished = state["counters"]

    def _train_epoch(self) -> dict[str, float]:
        self.epochs += 1
        self.policy.train()
        order = torch.from_numpy(generator(self.seed, self.epochs, 0).permutation(len(self._train)))
        totals = np.zeros(3)
        with seeded_torch(self.seed, self.epochs), dropout(self.policy.encoder, self.config.dropout):
            for chosen in order.split(self.config.batch_size):
                steps = [self._train[i] for i in chosen.tolist()]
                totals += self._update(steps, self._weights[chosen])
        self.steps += len(order)
        loss, value_loss, accuracy = (totals / len(order)).tolist()
        values = {"loss/value": value_loss} if self.config.value_weight else {}
        return {"loss/train": loss, "accuracy/train": accuracy} | values

    def _update(self, steps: Sequence[DemonstrationStep], weights: Tensor) -> tuple[float, float, float]:
        """Make one step of the optimizer: sums of the actor's and the critic's loss, and of the hits."""
        batch, mask, actions = self._batch(steps)
        value_loss = torch.zeros((), device=mask.device)
        if self.config.value_weight:
            log_probs, values = self.policy.evaluate(batch, mask)
            to_go = torch.tensor([step.to_go for step in steps], device=mask.device)
            value_loss = nn.functional.mse_loss(values, to_go)
        else:
            log_probs = self.policy.log_probs(batch, mask)
        weights = weights.to(mask.device)
        loss = cloning_loss(log_probs, mask, actions, weights, self.config.label_smoothing)
        both = loss + self.config.value_weight * value_loss
        descend(self.optimizer, both, self.policy, max_norm=self.config.max_gradient_norm)
        hits = (log_probs.argmax(dim=-1) == actions).sum()
        return loss.item() * len(steps), value_loss.item() * len(steps), hits.item()

    def _validate(self) -> dict[str, float]:
        self.policy.eval()
        loss = hits = 0.0
        for begin in range(0, len(self._validation), self.config.batch_size):
            batch, mask, actions = self._batch(self._validation[begin : begin + self.config.batch_size])
            with torch.no_grad():
                log_probs = self.policy.log_probs(batch, mask)
            loss += nn.functional.nll_loss(log_probs, actions, reduction="sum").item()
            hits += (log_probs.argmax(dim=-1) == actions).sum().item()
        count = len(self._validation)
        return {"loss/validation": loss / count, "accuracy/validation": hits / count}

    def _stop_early(self, loss: float) -> None:
        self._stale += 1
        if loss < self._best_loss:
            self._best_loss, self._stale = loss, 0
            self._best = copy.deepcopy(self.policy.state_dict())
        if self._stale and self._stale == self.config.patience:
            self.finished = True
            self.policy.load_state_dict(self._best)

    def _batch(self, steps: Sequence[DemonstrationStep]) -> tuple[Any, Tensor, Tensor]:
        device = self.policy.encoder.device
        batch = self.policy.collate([step.observation for step in steps])
        actions = torch.tensor([step.action for step in steps], device=device)
        return batch, as_mask([step.mask for step in steps], device), actions


def cloning_loss(
    log_probs: Tensor, mask: Tensor, actions: Tensor, weights: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """Return the mean cross-entropy, weighted.

    sum_i w_i ((1 - s) -log p(a_i) + s mean over legal a of -log p(a)) / B, where the weights have mean 1 over
    all demonstrated steps, not over a batch: a batch of small weights is a small step.

    Args:
        log_probs: float32[B, n].
        mask: bool[B, n].
        actions: int64[B], legal ones.
        weights: float32[B].
        label_smoothing: s.
    """
    chosen = log_probs.gather(1, actions[:, None]).squeeze(1)
    if label_smoothing:
        spread = log_probs.masked_fill(~mask, 0.0).sum(dim=-1) / mask.sum(dim=-1)
        chosen = (1 - label_smoothing) * chosen + label_smoothing * spread
    return -(weights * chosen).mean()


def step_weights(steps: Sequence[DemonstrationStep], weighting: str) -> Tensor:
    """Return what each step counts, with mean 1: float32[N].

    Raises:
        InputError: no demonstration gains anything, and the weights are to be the gains.
    """
    if weighting == "none":
        return torch.ones(len(steps))
    gains = torch.tensor([max(step.gain, 0.0) for step in steps])
    if not gains.any():
        raise InputError("weighting by gain: no demonstration is better than its reference")
    return gains / gains.mean()


def validation_programs(steps: Sequence[DemonstrationStep], share: float, seed: int) -> set[str]:
    """Draw the programs that are held out: a share of them, rounded down.

    Raises:
        InputError: that is all of them.
    """
    programs = list(dict.fromkeys(step.program for step in steps))
    count = int(share * len(programs))
    if count == len(programs):
        raise InputError(f"validation_share {share:g} leaves none of {len(programs)} programs to train on")
    chosen = np.random.default_rng(seed).permutation(len(programs))[:count]
    return {programs[i] for i in chosen}


@contextmanager
def dropout(encoder: nn.Module, share: float) -> Iterator[None]:
    """Drop a share of the elements of what an encoder returns while it trains, whatever encoder it is."""

    def drop(module: nn.Module, _inputs: Any, vectors: Tensor) -> Tensor:
        return nn.functional.dropout(vectors, share, training=module.training)

    handle = encoder.register_forward_hook(drop)
    try:
        yield
    finally:
        handle.remove()
