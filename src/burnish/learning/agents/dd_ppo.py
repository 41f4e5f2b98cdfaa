"""Decentralized distributed PPO: DD-PPO (Wijmans et al. 2020).

Each rank is a PPO learner with its own environments and the same parameters. In an iteration the ranks play
their own episodes, and then take the same gradient steps: every minibatch is drawn from the steps of all
ranks, and each rank computes the sum over its part. Sums are added and then divided, so the result does
not depend on how the steps are divided: N ranks learn what one rank learns from the same episodes.

Stragglers are preempted (section 3): once enough ranks have played all their steps, the others cut their
episodes, unless they have played too little to learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from burnish.core.errors import InputError
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.learner import check_ranges, first_program, means
from burnish.learning.agents.policy import Policy
from burnish.learning.agents.ppo import METRICS, PPO, PPOConfig, RolloutBatch, explained_variance
from burnish.learning.agents.ranks import Ranks
from burnish.learning.agents.rollout import EarlyEnd, Episode, play


@dataclass(frozen=True)
class DDPPOConfig(PPOConfig):
    """The keys of [algorithm]; `minibatch` and `episodes` are of all ranks, `steps` of one environment.

    With `preempt` = 1 the results depend on the seed only.
    """

    preempt: float = 0.6  # share of the ranks that are done, at which the others stop
    least: float = 0.25  # share of its steps that every rank plays
    timeout_seconds: float = 1800.0  # longest wait for another rank, which then counts as lost

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        super().__post_init__()
        check_ranges(self, preempt=(0.0, 1.0), least=(0.0, 1.0), timeout_seconds=(1.0, 1e9))
        if self.moving_average is not None and self.preempt < 1:
            raise InputError("moving_average needs whole episodes; set preempt = 1")


class DDPPO(PPO):
    """A learner: see burnish.learning.agents.learner.Learner."""

    config: DDPPOConfig

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: DDPPOConfig | None = None,
        *,
        seed: int,
        ranks: Ranks | None = None,
    ) -> None:
        """Make the policy and its optimizer, and take the parameters of rank 0."""
        super().__init__(envs, make_policy, config or DDPPOConfig(), seed=seed)
        self.ranks = ranks or Ranks(timeout_seconds=self.config.timeout_seconds)
        self.environments = self.ranks.count * envs.num_envs
        self.first = self.ranks.number * envs.num_envs
        for env in envs.envs:  # each one takes every n-th program, as the environments of one vector do
            env.sampler.stride = self.environments
        self.policy.load_state_dict(self.ranks.broadcast(self.policy.state_dict()))
        self._outlines: list[list[Episode]] = []  # of each rank, without their steps

    def update(self, batch: RolloutBatch, rng: np.random.Generator) -> dict[str, float]:
        """Take gradient steps on the steps of all ranks; return the means of the metrics.

        Raises:
            LostRank: a rank was lost, or has other parameters after the update.
        """
        counts = self.ranks.gather(len(batch.actions))
        columns = torch.stack([batch.advantages, batch.returns, batch.values], dim=1)
        advantages, returns, values = self.ranks.gather_rows(columns, counts).unbind(1)
        rows, first = self._rows(batch.observations), sum(counts[: self.ranks.number])

        def differentiate(drawn: Tensor) -> dict[str, Tensor]:
            """Add the gradients of all ranks' parts; `drawn` numbers the steps of all ranks."""
            mine = (first <= drawn) & (drawn < first + len(batch.actions))
            measured = dict.fromkeys(METRICS, torch.zeros(()))
            if len(chosen := drawn[mine] - first):
                share = len(chosen) / len(drawn)  # a mean over the part, times it: a sum, divided
                scaled = self._scaled(advantages[drawn])[mine]
                loss, measured = self._loss(rows(chosen), batch, chosen, scaled)
                (share * loss).backward()
                measured = {name: share * value for name, value in measured.items()}
            return self.ranks.sum_gradients(self.policy.parameters(), measured)

        seen = list(self._steps(len(advantages), differentiate, rng))
        self.ranks.check_equal(self.policy)
        explained = explained_variance(returns, values)
        return means(seen) | {"explained_variance": explained, "updates": float(len(seen))}

    def _rewarded(self, played: Sequence[Episode]) -> list[Episode]:
        if self.config.moving_average is None:
            return list(played)
        parts = [self.averages.rewarded(part) for part in self._outlines]
        own = parts[self.ranks.number]
        return [replace(one, rewards=other.rewards) for one, other in zip(played, own, strict=True)]

    def _count(self, played: Sequence[Episode]) -> dict[str, float]:
        of_all = [episode for part in self._outlines for episode in part]
        return super()._count(of_all) | {"cut": float(sum(episode.cut for episode in of_all))}

    def _play(self) -> list[Episode]:
        config, ranks, act, played = self.config, self.ranks, self._actor(), list[Episode]()
        ranks.begin()
        least = max(1.0, config.least * config.steps * self.envs.num_envs)
        preempted = False

        def stop(steps: int) -> bool:
            nonlocal preempted
            preempted = steps >= least and config.preempt < 1 and ranks.done() >= config.preempt
            return preempted

        while not preempted and len(played) * ranks.count < max(config.episodes, 1):
            first = first_program(self.seed, self.episodes + len(played) * ranks.count) + self.first
            wanted: Any = {"steps": config.steps, "together": config.act_together, "seed": first}
            early_end = EarlyEnd.within(config.early_end_seconds)
            played += play(self.envs, act, **wanted, early_end=early_end, stop=stop)
        if not preempted:
            ranks.finish()
        empty: Any = dict.fromkeys(("observations", "masks", "actions", "notes"), ())
        self._outlines = ranks.gather([replace(episode, **empty) for episode in played])
        return played
