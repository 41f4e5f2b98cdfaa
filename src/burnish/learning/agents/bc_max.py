"""BC-Max: imitate, for every program, the best trajectory found by any policy of a pool.

The policies play each program. Then variations of the best trajectory are explored: the policy's least
certain decision is replaced by its second choice, and the policy continues from there. The best trajectory is
imitated, and the policy that learned from it joins the pool (Marinov et al. 2024, arXiv:2403.19462;
ml-compiler-opt: compiler_opt/rl/imitation_learning). Programs are in buckets by their number of decisions.
Buckets' weights follow their losses by exponentiated gradient, so that the policy improves on the worst, too.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from burnish.envs.vector import VectorEnv
from burnish.learning.agents import optimizers
from burnish.learning.agents.checkpoints import Saved
from burnish.learning.agents.learner import (
    check_algorithm,
    check_ranges,
    descend,
    first_program,
    generator,
    seeded_torch,
)
from burnish.learning.agents.policy import Policy, as_mask
from burnish.learning.agents.rollout import Act, Episode, Notes, play, summary


@dataclass(frozen=True)
class BCMaxConfig:
    """The keys of [algorithm] in a training configuration."""

    policies: int = 2  # policies that play: the first and the latest; 1: the latest only
    explorations: int = 3  # of each program in an iteration: one decision is replaced in each
    epochs: int = 4  # over all best trajectories, in an iteration
    minibatch: int = 256
    learning_rate: float = 1e-3
    buckets: int = 4  # of programs, by the number of their decisions
    weight_rate: float = 0.1  # of exponentiated gradient; 0: equal weights for all buckets
    max_gradient_norm: float = 1.0

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        whole = dict.fromkeys(("policies", "epochs", "minibatch", "buckets"), (1, math.inf))
        rest = dict.fromkeys(("learning_rate", "weight_rate", "max_gradient_norm"), (0.0, math.inf))
        check_ranges(self, explorations=(0, math.inf), **whole, **rest)


@dataclass(frozen=True)
class BestTrajectory:
    """The best known trajectory of a program."""

    observations: list[Any]  # L
    masks: list[NDArray[np.bool_]]  # L
    actions: list[int]  # L
    value: float  # its return
    first: float  # return of the first policy when the program was first played


def least_certain(episode: Episode, tried: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the actions up to the least certain decision, with its second choice; None if all were tried.

    Args:
        episode: Notes are [gap between the two most probable actions' log-probabilities, second action].
        tried: Results of earlier calls.
    """
    order = sorted(range(len(episode)), key=lambda step: (episode.notes[step][0], step))
    for step in order:
        gap, second = episode.notes[step]
        prefix = (*episode.actions[:step], int(second))
        if math.isfinite(gap) and prefix not in tried:
            return prefix
    return None


def bucket_weights(weights: Tensor, losses: Tensor, rate: float) -> Tensor:
    """Return w_b exp(rate loss_b) / sum, for float32[B] weights and the buckets' mean losses."""
    return torch.softmax(weights.log() + rate * losses, dim=0)


SAVED = Saved("bc-max", ("policy", "optimizer", "weights"))


class BCMax:
    """A learner: see burnish.learning.agents.learner.Learner."""

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: BCMaxConfig | None = None,
        *,
        seed: int,
    ) -> None:
        """Make the policy; if it has a critic, that is not trained."""
        self.envs = envs
        self.config = config = config or BCMaxConfig()
        self.seed = seed
        with seeded_torch(seed, 0):
            self.policy = make_policy()
        self._players = [copy.deepcopy(self.policy).eval()]  # the first policy
        self.optimizer = optimizers.Adam(self.policy.parameters(), lr=config.learning_rate)
        self.weights = torch.full((config.buckets,), 1 / config.buckets)
        self.best: dict[str, BestTrajectory] = {}
        self.iterations = self.steps = self.episodes = 0

    def iterate(self) -> dict[str, float]:
        """Play the next programs with all policies, explore, and imitate each program's best trajectory.

        "improvement" is the mean difference of the best trajectories' returns and the first policy's.
        """
        self.iterations += 1
        first = first_program(self.seed, (self.iterations - 1) * self.envs.num_envs)
        players = [*self._players, copy.deepcopy(self.policy).eval()][-self.config.policies :]
        rounds = [self._play(player, first) for player in players]
        played = [episode for found in rounds for episode in found]
        tried: list[list[tuple[int, ...]]] = [[] for _ in self.envs.envs]
        best = [max(found, key=_value) for found in zip(*rounds, strict=True)]
        for _ in range(self.config.explorations):
            prefixes = [least_certain(episode, known) for episode, known in zip(best, tried, strict=True)]
            if all(prefix is None for prefix in prefixes):
                break
            for known, prefix in zip(tried, prefixes, strict=True):
                known += [prefix] if prefix is not None else []
            found = self._play(players[-1], first, prefixes)
            played += found
            best = [max(pair, key=_value) for pair in zip(best, found, strict=True)]
        for episode, start in zip(best, rounds[0], strict=True):
            self._keep(episode, sum(start.rewards))
        with seeded_torch(self.seed, self.iterations):
            losses = self._imitate()
        self.steps += sum(map(len, played))
        self.episodes += len(played)
        gains = [one.value - one.first for one in self.best.values()]
        improvement = float(np.mean(gains)) if gains else 0.0
        return SAVED.counted(self) | summary(played) | losses | {"improvement": improvement}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs."""
        best = {name: asdict(one) for name, one in self.best.items()}
        return SAVED.state_of(self) | {"best": best, "first": self._players[0].state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another learner."""
        check_algorithm(state, SAVED.algorithm)
        SAVED.load(self, state)
        self._players[0].load_state_dict(state["first"])
        self.best = {name: BestTrajectory(**one) for name, one in state["best"].items()}

    def _keep(self, episode: Episode, first: float) -> None:
        known = self.best.get(episode.program)
        if not episode.crashed and (known is None or _value(episode) > known.value):
            self.best[episode.program] = BestTrajectory(
                episode.observations[:-1],
                episode.masks[:-1],
                episode.actions,
                _value(episode),
                known.first if known else first,
            )

    def _play(
        self, policy: Policy, first: int, prefixes: Sequence[tuple[int, ...] | None] = ()
    ) -> list[Episode]:
        """Play one program in each environment: a prefix, if given, then the most probable actions."""
        together = self.envs.num_envs
        return play(self.envs, self._actor(policy, prefixes), steps=1, seed=first, together=together)

    def _actor(self, policy: Policy, prefixes: Sequence[tuple[int, ...] | None]) -> Act:
        at = [0] * self.envs.num_envs

        def act(
            numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
        ) -> tuple[NDArray[np.int64], Notes]:
            with torch.no_grad():
                batch = policy.collate(observations)
                log_probs = policy.log_probs(batch, as_mask(masks, policy.encoder.device)).cpu().numpy()
            order = np.argsort(-log_probs, axis=1, kind="stable")
            rows = np.arange(len(numbers))
            actions, second = order[:, 0].astype(np.int64), order[:, 1]
            gaps = log_probs[rows, actions] - log_probs[rows, second]
            gaps[~masks[rows, second]] = math.inf
            for row, i in enumerate(numbers):
                prefix = (prefixes[i] if prefixes else None) or ()
                if at[i] < len(prefix):
                    forced = prefix[at[i]]
                    second[row] = actions[row] if forced == second[row] else second[row]
                    gaps[row] = math.inf  # so that an explored decision is not explored again
                    actions[row] = forced
                at[i] += 1
            return actions, np.stack([gaps, second], axis=1).astype(np.float64)

        return act

    def _imitate(self) -> dict[str, float]:
        """Take a gradient step on each minibatch of each epoch."""
        config, device = self.config, self.policy.encoder.device
        kept = list(self.best.values())
        if not kept:
            return {}
        observations = [seen for one in kept for seen in one.observations]
        masks = as_mask([mask for one in kept for mask in one.masks], device)
        actions = torch.tensor([action for one in kept for action in one.actions], device=device)
        bucket = self._buckets(kept).to(device)
        rng = generator(self.seed, self.iterations, self.envs.num_envs)
        self.policy.train()
        total = torch.zeros(config.buckets, 2)
        for _ in range(config.epochs):
            total = torch.zeros(config.buckets, 2)  # sum and number of losses by bucket
            share = self.weights * config.buckets
            for chosen in torch.from_numpy(rng.permutation(len(actions))).split(config.minibatch):
                batch = self.policy.collate([observations[i] for i in chosen.tolist()])
                log_probs = self.policy.log_probs(batch, masks[chosen])
                losses = -log_probs.gather(1, actions[chosen, None]).squeeze(1)
                loss = (share[bucket[chosen]] * losses).mean()
                descend(self.optimizer, loss, self.policy, max_norm=config.max_gradient_norm)
                ones = torch.stack([losses.detach(), torch.ones_like(losses)], dim=1)
                total.index_add_(0, bucket[chosen], ones)
            means = total[:, 0] / total[:, 1].clamp(min=1)
            self.weights = bucket_weights(self.weights, means, config.weight_rate)
        return {"loss/imitation": float(total[:, 0].sum() / total[:, 1].sum().clamp(min=1))}

    def _buckets(self, kept: Sequence[BestTrajectory]) -> Tensor:
        """Return the bucket of every decision; programs with similar numbers of decisions share a bucket."""
        lengths = np.array([len(one.actions) for one in kept])
        ranks = np.argsort(np.argsort(lengths, kind="stable"))
        of_program = ranks * self.config.buckets // len(kept)
        return torch.from_numpy(np.repeat(of_program, lengths))


def _value(episode: Episode) -> float:
    """Return an episode's return, or -inf for a crash."""
    return -math.inf if episode.crashed else math.fsum(episode.rewards)
