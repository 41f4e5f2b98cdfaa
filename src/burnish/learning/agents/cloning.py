"""Behaviour cloning: imitation of the choices of a search (Pomerleau 1989).

The loss is the cross-entropy of the demonstrated actions among the legal ones. Whole programs are held out.
When the loss on them no longer falls, training ends with the best parameters. MLGO (Trofin et al. 2021)
begins with behaviour cloning. A critic for later policy-gradient training can be trained along with it.
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
from burnish.learning.agents import optimizers
from burnish.learning.agents.demonstrations import Demonstration, DemonstrationStep, record
from burnish.learning.agents.learner import check_algorithm, check_ranges, descend, generator, seeded_torch
from burnish.learning.agents.policy import Policy, as_mask

MOST = 0.95  # largest value of shares that must stay below 1


@dataclass(frozen=True)
class CloningConfig:
    """The keys of [algorithm] in a training configuration."""

    learning_rate: float = 1e-3
    weight_decay: float = 0.0  # AdamW's
    batch_size: int = 256
    max_gradient_norm: float = 1.0
    dropout: float = 0.0  # of the encoder's output, while training; MLGO uses 0.2
    label_smoothing: float = 0.0  # share of the target spread evenly over all legal actions
    weighting: Literal["none", "gain"] = "none"
    """gain: a step's weight is its demonstration's gain over the reference, or 0 if it gains nothing."""
    value_weight: float = 0.0  # of the critic's squared error, whose target is the return to go
    validation_share: float = 0.1  # of the programs
    patience: int = 10  # epochs without a better validation loss after which training ends; 0: never

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        shares = dict.fromkeys(("dropout", "label_smoothing", "validation_share"), (0.0, MOST))
        rest = ("learning_rate", "weight_decay", "max_gradient_norm", "value_weight", "patience")
        check_ranges(self, batch_size=(1, np.inf), **shares, **dict.fromkeys(rest, (0.0, np.inf)))
        if self.weighting not in ("none", "gain"):
            raise InputError(f"weighting: expected 'none' or 'gain', not {self.weighting!r}")


class Cloning:
    """A Learner whose iteration is one epoch over all demonstrated steps.

    `policy` is in training; once `finished`, it has the best parameters of all epochs.
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
        """Replay the demonstrations in the environments, which are not used afterwards.

        Args:
            envs: Environments to replay the demonstrations in; they define the observations.
            make_policy: Makes a new policy.
            config: Settings of the training.
            seed: Seed of the held-out programs, the order of steps, and dropout.
            demonstrations: Demonstrations to imitate; for several experts see `best_demonstrations`.
            progress: Called with the number of replayed demonstrations.

        Raises:
            InputError: there is nothing to imitate, all programs are held out, or a setting is out of range.
        """
        self.envs = envs
        self.config = config = config or CloningConfig()
        self.seed = seed
        recording = record(envs.envs, demonstrations, progress)
        self.failures = recording.failures  # reasons why demonstrations were left out, by names of programs
        with seeded_torch(seed, 0):
            self.policy = make_policy()
        held_out = validation_programs(recording.steps, config.validation_share, seed)
        self._train = [step for step in recording.steps if step.program not in held_out]
        self._validation = [step for step in recording.steps if step.program in held_out]
        self._weights = step_weights(self._train, config.weighting)
        self._demonstrations = len({step.program for step in self._train})
        self.optimizer = optimizers.AdamW(
            self.policy.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.epochs = self.steps = self._stale = 0
        self._best_loss = float("inf")
        self._best = copy.deepcopy(self.policy.state_dict())
        self.finished = False

    def iterate(self) -> dict[str, float]:
        """Train for an epoch; once finished, only validate.

        Metrics: "steps" (trained on, in total), "episodes" (demonstrations, in total), "loss/train",
        "loss/value" and "accuracy/train" during the epoch, "loss/validation" and "accuracy/validation" after
        the epoch, "finished" (0 or 1).
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
        """See Learner; the demonstrations are not part of the state."""
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
        """Take an optimizer step; return sums over steps of the actor's loss, critic's loss, and hits."""
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
    """Return the weighted mean cross-entropy.

    sum_i w_i ((1 - s) -log p(a_i) + s mean over legal a of -log p(a)) / B. The weights have mean 1 over all
    demonstrated steps, not over a batch, so a batch of small weights makes a small step.

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
    """Return the weights of steps, with mean 1: float32[N].

    Raises:
        InputError: the weights are gains, and no demonstration gains anything.
    """
    if weighting == "none":
        return torch.ones(len(steps))
    gains = torch.tensor([max(step.gain, 0.0) for step in steps])
    if not gains.any():
        raise InputError("weighting by gain: no demonstration is better than its reference")
    return gains / gains.mean()


def validation_programs(steps: Sequence[DemonstrationStep], share: float, seed: int) -> set[str]:
    """Draw the programs to hold out: a share of all, rounded down.

    Raises:
        InputError: no program would be left to train on.
    """
    programs = list(dict.fromkeys(step.program for step in steps))
    count = int(share * len(programs))
    if count == len(programs):
        raise InputError(f"validation_share {share:g} leaves no program to train on, of {len(programs)}")
    chosen = np.random.default_rng(seed).permutation(len(programs))[:count]
    return {programs[i] for i in chosen}


@contextmanager
def dropout(encoder: nn.Module, share: float) -> Iterator[None]:
    """Apply dropout to an encoder's output within the context, while the encoder is in training mode."""

    def drop(module: nn.Module, _inputs: Any, vectors: Tensor) -> Tensor:
        return nn.functional.dropout(vectors, share, training=module.training)

    handle = encoder.register_forward_hook(drop)
    try:
        yield
    finally:
        handle.remove()
