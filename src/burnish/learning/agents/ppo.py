"""Proximal policy optimization (Schulman et al. 2017), with masks.

The details follow Stable-Baselines3, with which the tests compare parameters after an update. Unlike there,
whole episodes are played, so that an iteration does not depend on the environments' earlier state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from burnish.core.errors import InputError
from burnish.envs.vector import VectorEnv
from burnish.learning.agents import optimizers
from burnish.learning.agents.checkpoints import Saved
from burnish.learning.agents.learner import (
    check_ranges,
    first_program,
    generator,
    means,
    seeded_torch,
)
from burnish.learning.agents.policy import Policy, as_mask, entropy
from burnish.learning.agents.rollout import EarlyEnd, Episode, Notes, draw, play, summary

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PPOConfig:
    """The keys of [algorithm] in a training configuration."""

    steps: int = 180  # fewest of each environment in an iteration; the last episode is played to its end
    episodes: int = 1  # fewest of all environments in an iteration; further rounds are played if needed
    early_end_seconds: float | None = None  # deadline of a round of play, with MLGO's rule: see EarlyEnd
    act_together: int = 1  # environments that share a forward pass, and wait for each other
    epochs: int = 4
    minibatch: int = 256
    learning_rate: float = 3e-4
    anneal_steps: int | None = None  # of all environments, in which the learning rate falls linearly to 0
    discount: float = 0.95
    gae_lambda: float = 0.95
    bootstrap: bool = True  # add the value of a truncated episode's end; False: the step limit is a true end
    normalize_advantages: bool = True  # in each minibatch
    clip: float = 0.2
    value_clip: float | None = None  # most that a value may move from the value during play; None: no limit
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.01
    max_gradient_norm: float = 0.5
    moving_average: float | None = None  # decay: see MovingAverages; MLGO combines it with discount 0
    self_critical: bool = False  # rewards by deviation from the most probable actions: see self_critical
    target_kl: float | None = None  # an iteration's updates end when the KL divergence exceeds 1.5 times this

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        counts = "steps episodes act_together epochs minibatch anneal_steps".split()
        shares = "discount gae_lambda clip moving_average".split()
        rest = "learning_rate value_clip value_coefficient entropy_coefficient max_gradient_norm".split()
        check_ranges(self, **dict.fromkeys(counts, (1, math.inf)), **dict.fromkeys(shares, (0.0, 1.0)))
        check_ranges(self, **dict.fromkeys(rest, (0.0, math.inf)))
        if self.self_critical and (self.steps > 1 or self.moving_average is not None):
            raise InputError(
                "self_critical: expected steps = 1, one episode at a time, and no moving_average"
            )


@dataclass(frozen=True)
class RolloutBatch:
    """N steps to learn from."""

    observations: Sequence[Any]  # N
    masks: Tensor  # bool[N, n]
    actions: Tensor  # int64[N]
    log_probs: Tensor  # float32[N]: of the actions, during play
    values: Tensor  # float32[N]: during play
    advantages: Tensor  # float32[N]
    returns: Tensor  # float32[N]


@dataclass(frozen=True)
class Trajectory:
    """T steps of consecutive episodes; time is the first axis of all arrays."""

    rewards: Floats
    values: Floats  # V(s_t)
    next_values: Floats  # V(s_{t+1})
    terminated: NDArray[np.bool_]  # an episode terminated with the step
    over: NDArray[np.bool_]  # an episode terminated or was truncated with the step


def gae(trajectory: Trajectory, *, discount: float, gae_lambda: float) -> Floats:
    """Return generalized advantage estimates (Schulman et al. 2015), with time as the first axis.

    A_t = d_t + discount gae_lambda A_{t+1}, without the second term if an episode is `over`, and
    d_t = r_t + discount V(s_{t+1}) - V(s_t), without the second term if it `terminated`. After the last step
    and after a truncation, `next_values` therefore stand for all later rewards.
    """
    following_values = trajectory.next_values * ~trajectory.terminated
    deltas = trajectory.rewards + discount * following_values - trajectory.values
    keep = discount * gae_lambda * ~trajectory.over
    advantages = np.zeros_like(deltas)
    following = np.zeros_like(deltas[0])
    for t in range(len(deltas) - 1, -1, -1):
        following = deltas[t] + keep[t] * following
        advantages[t] = following
    return advantages


def policy_loss(log_probs: Tensor, before: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """Return -mean(min(r A, clamp(r, 1 - clip, 1 + clip) A)) with r = exp(log_probs - before), all [B]."""
    ratio = torch.exp(log_probs - before)
    return -torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()


def value_loss(values: Tensor, before: Tensor, returns: Tensor, clip: float | None) -> Tensor:
    """Return the mean squared error of values, clipped to a distance of `clip` from the values `before`."""
    if clip is not None:
        values = before + (values - before).clamp(-clip, clip)
    return torch.nn.functional.mse_loss(values, returns)


def kl_divergence(log_probs: Tensor, before: Tensor) -> Tensor:
    """Estimate KL(before || now) from actions drawn before: mean(r - 1 - log r), never negative."""
    log_ratio = log_probs - before
    return (torch.expm1(log_ratio) - log_ratio).mean()


def normalized(advantages: Tensor) -> Tensor:
    """Return advantages scaled to mean 0 and deviation 1; a single one is returned as it is."""
    if len(advantages) < 2:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def draw_actions(
    policy: Policy, observations: Sequence[Any], masks: NDArray[np.bool_], uniform: Floats
) -> tuple[NDArray[np.int64], Notes]:
    """Draw actions: int64[B], and notes float64[B, 3].

    The notes are the actions' log-probabilities, the values of the states, and 1 for a deviation: an action
    that is less probable than another one.

    Args:
        policy: It has a critic.
        observations: B observations.
        masks: bool[B, n], the legal actions.
        uniform: float64[B], random numbers from [0, 1).
    """
    with torch.no_grad():
        found, values = policy.evaluate(policy.collate(observations), as_mask(masks, policy.encoder.device))
    log_probs = found.cpu().numpy()
    actions = draw(log_probs, uniform)
    taken = log_probs[np.arange(len(actions)), actions]
    deviates = taken < log_probs.max(axis=1)
    return actions, np.stack([taken, values.cpu().numpy(), deviates], axis=1).astype(np.float64)


def self_critical(played: Sequence[Episode], likely: Mapping[str, float]) -> list[Episode]:
    """Return the episodes with rewards only for deviations, such as one answer of a hundred that was drawn.

    The reward is the episode's return minus that of the most probable actions on the same program (Rennie et
    al. 2017, arXiv:1612.00563), in units of the root mean square over all deviations. All other actions
    would have led to the return that is subtracted, so they get 0.

    Args:
        played: Episodes with the notes of `draw_actions`; all rewards of a crashed one are 0.
        likely: The return of the most probable actions, by the program's name.
    """
    gains = [
        0.0 if e.crashed or e.program not in likely else math.fsum(e.rewards) - likely[e.program]
        for e in played
    ]
    deviations = [np.array([note[2] for note in episode.notes]) for episode in played]
    square = sum(gain**2 * one.sum() for gain, one in zip(gains, deviations, strict=True))
    scale = math.sqrt(square / max(1.0, sum(one.sum() for one in deviations))) or 1.0
    return [
        replace(episode, rewards=list(gain / scale * one))
        for episode, gain, one in zip(played, gains, deviations, strict=True)
    ]


METRICS = ("loss/policy", "loss/value", "entropy", "kl", "clip_fraction")
"""Metrics of a gradient step."""


def explained_variance(returns: Tensor, values: Tensor) -> float:
    """Return 1 - var(returns - values) / var(returns), and 0 if all returns are equal."""
    spread = returns.var(correction=0)
    missed = (returns - values).var(correction=0)
    return 1 - float(missed / spread) if spread > 0 else 0.0


SAVED = Saved("ppo", ("policy", "optimizer", "averages"))


class PPO:
    """A learner: see burnish.learning.agents.learner.Learner."""

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: PPOConfig | None = None,
        *,
        seed: int,
    ) -> None:
        """Make the policy, which needs a critic, and its optimizer."""
        self.envs = envs
        self.config = config or PPOConfig()
        self.seed = seed
        with seeded_torch(seed, 0):
            self.policy = make_policy()
        self.optimizer = optimizers.Adam(self.policy.parameters(), lr=self.config.learning_rate, eps=1e-5)
        self.averages = MovingAverages(self.config.moving_average)
        self._likely: dict[str, float] = {}  # returns of the most probable actions, in this iteration
        self.iterations = self.steps = self.episodes = 0
        self.environments = envs.num_envs  # of all learners; a learner's own begin with the first
        self.first = 0

    def iterate(self) -> dict[str, float]:
        """Play episodes in all environments, and train on them for some epochs."""
        self._set_learning_rate()
        self.iterations += 1
        with seeded_torch(self.seed, self.iterations):
            self.policy.eval()
            played = self._play()
            batch = self.batch(self._rewarded(played))
            self.policy.train()
            losses = self.update(batch, generator(self.seed, self.iterations, self.environments))
        metrics = self._count(played)
        rate = self.optimizer.param_groups[0]["lr"]
        return SAVED.counted(self) | metrics | losses | {"learning_rate": rate}

    def batch(self, played: Sequence[Episode]) -> RolloutBatch:
        """Return the training batch of episodes whose notes are log-probability and value."""
        notes = np.concatenate([episode.notes for episode in played])
        values = notes[:, 1] * (self.config.value_coefficient > 0)  # an untrained critic's values count as 0
        last = np.cumsum([len(episode) for episode in played]) - 1
        terminated, over = np.zeros((2, len(values)), dtype=bool)
        over[last] = True
        terminated[last] = [e.terminated or not (self.config.bootstrap or e.cut) for e in played]
        next_values = np.append(values[1:], 0.0)
        cut = np.flatnonzero(over & ~terminated)
        if len(cut):
            ends = [e.observations[-1] for e, i in zip(played, last, strict=True) if not terminated[i]]
            next_values[cut] = self._values(ends)
        rewards = np.concatenate([episode.rewards for episode in played])
        trajectory = Trajectory(rewards, values, next_values, terminated, over)
        advantages, returns = self._estimate(trajectory, notes)
        device = self.policy.encoder.device
        numbers = (notes[:, 0], values, advantages, returns)
        return RolloutBatch(
            [observation for episode in played for observation in episode.observations[:-1]],
            as_mask([mask for episode in played for mask in episode.masks[:-1]], device),
            torch.tensor([action for episode in played for action in episode.actions], device=device),
            *(torch.tensor(column, dtype=torch.float32, device=device) for column in numbers),
        )

    def _estimate(self, trajectory: Trajectory, notes: Notes) -> tuple[Floats, Floats]:
        """Return the advantages of steps, and the values to learn, from their notes float64[N, k]."""
        discount, keep = self.config.discount, self.config.gae_lambda
        advantages = gae(trajectory, discount=discount, gae_lambda=keep)
        return advantages, advantages + trajectory.values

    def update(self, batch: RolloutBatch, rng: np.random.Generator) -> dict[str, float]:
        """Take a gradient step on each minibatch of each epoch; return the means of the metrics."""
        rows = self._rows(batch.observations)

        def differentiate(chosen: Tensor) -> dict[str, Tensor]:
            advantages = self._scaled(batch.advantages[chosen])
            loss, measured = self._loss(rows(chosen), batch, chosen, advantages)
            loss.backward()
            return measured

        seen = list(self._steps(len(batch.actions), differentiate, rng))
        explained = explained_variance(batch.returns, batch.values)
        return means(seen) | {"explained_variance": explained, "updates": float(len(seen))}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs."""
        return SAVED.state_of(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another learner."""
        SAVED.load(self, state)

    def _steps(
        self, count: int, differentiate: Callable[[Tensor], dict[str, Tensor]], rng: np.random.Generator
    ) -> Iterator[dict[str, Tensor]]:
        """Take the gradient steps of an update; yield the metrics of each.

        Args:
            count: The number of steps of play to learn from.
            differentiate: Adds a minibatch's gradients, and returns its metrics; it is given the numbers of
                its steps of play, int64[B].
            rng: Draws the minibatches.
        """
        for _ in range(self.config.epochs):
            order = torch.from_numpy(rng.permutation(count))
            for drawn in torch.split(order, self.config.minibatch):
                self.optimizer.zero_grad()
                measured = differentiate(drawn)
                if self._is_far(measured):
                    return
                norm = torch.nn.utils.clip_grad_norm_(
                    self.policy.parameters(), self.config.max_gradient_norm, error_if_nonfinite=True
                )
                self.optimizer.step()
                yield measured | {"gradient_norm": norm}

    def _is_far(self, measured: Mapping[str, Tensor]) -> bool:
        """Return whether the policy has moved so far that an iteration's updates end."""
        limit = self.config.target_kl
        return limit is not None and measured["kl"].item() > 1.5 * limit

    def _scaled(self, advantages: Tensor) -> Tensor:
        return normalized(advantages) if self.config.normalize_advantages else advantages

    def _rewarded(self, played: Sequence[Episode]) -> list[Episode]:
        """Return the episodes with the rewards to learn from."""
        if self.config.self_critical:
            return self_critical(played, self._likely)
        return self.averages.rewarded(played)

    def _count(self, played: Sequence[Episode]) -> dict[str, float]:
        """Count an iteration's steps and episodes, and return their metrics."""
        self.steps += sum(map(len, played))
        self.episodes += len(played)
        return summary(played)

    def _play(self) -> list[Episode]:
        """Return an iteration's episodes."""
        config, act, played = self.config, self._actor(), list[Episode]()
        self._likely = {}
        while len(played) < config.episodes:
            first = first_program(self.seed, self.episodes + len(played))
            wanted: Any = {"steps": config.steps, "together": config.act_together, "seed": first}
            early_end = EarlyEnd.within(config.early_end_seconds)
            played += play(self.envs, act, **wanted, early_end=early_end)
            if config.self_critical:
                best = play(self.envs, self._most_probable, **wanted, early_end=early_end)
                self._likely |= {one.program: math.fsum(one.rewards) for one in best if not one.crashed}
        return played

    def _most_probable(
        self, numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], Notes]:
        actions = self.policy.act(observations, masks).cpu().numpy()
        return actions, np.zeros((len(numbers), 0))

    def _actor(
        self,
    ) -> Callable[[Sequence[int], list[Any], NDArray[np.bool_]], tuple[NDArray[np.int64], Notes]]:
        """Return an actor that draws actions and notes their log-probabilities and the values."""
        numbers_of_all = range(self.first, self.first + self.envs.num_envs)
        rngs = [generator(self.seed, self.iterations, number) for number in numbers_of_all]

        def act(
            numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
        ) -> tuple[NDArray[np.int64], Notes]:
            return draw_actions(
                self.policy, observations, masks, np.array([rngs[i].random() for i in numbers])
            )

        return act

    def _values(self, observations: Sequence[Any]) -> Floats:
        """Return the values of observations, a minibatch at a time."""
        size = self.config.minibatch
        parts = [observations[i : i + size] for i in range(0, len(observations), size)]
        with torch.no_grad():
            return np.concatenate(
                [self.policy.values(self.policy.collate(part)).cpu().numpy() for part in parts]
            )

    def _rows(self, observations: Sequence[Any]) -> Callable[[Tensor], Any]:
        """Return a function from indices to a batch; if batches are rows of one tensor, that is made once."""
        first = observations[0]
        if isinstance(first, np.ndarray) and all(row.shape == first.shape for row in observations):
            whole = self.policy.collate(observations)
            if isinstance(whole, Tensor) and len(whole) == len(observations):
                return lambda chosen: whole[chosen.to(whole.device)]
        return lambda chosen: self.policy.collate([observations[i] for i in chosen.tolist()])

    def _loss(
        self, rows: Any, batch: RolloutBatch, chosen: Tensor, advantages: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a minibatch, and its metrics; all are means over the chosen steps."""
        config, masks, before = self.config, batch.masks[chosen], batch.log_probs[chosen]
        found, values = self.policy.evaluate(rows, masks)
        log_probs = found.gather(1, batch.actions[chosen, None]).squeeze(1)
        of_policy = policy_loss(log_probs, before, advantages, config.clip)
        of_value = value_loss(values, batch.values[chosen], batch.returns[chosen], config.value_clip)
        disorder = entropy(found, masks).mean()
        loss = of_policy + config.value_coefficient * of_value - config.entropy_coefficient * disorder
        with torch.no_grad():
            clipped = ((log_probs - before).exp() - 1).abs().gt(config.clip).float().mean()
            measured = of_policy, of_value, disorder, kl_divergence(log_probs, before), clipped
        return loss, {name: value.detach() for name, value in zip(METRICS, measured, strict=True)}

    def _set_learning_rate(self) -> None:
        rate = self.config.learning_rate
        if self.config.anneal_steps is not None:
            rate *= max(0.0, 1 - self.steps / self.config.anneal_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate


SHIFT = 0.01  # added to both sizes, as ml-compiler-opt does (compiler_opt/rl/compilation_runner.py)


class MovingAverages:
    """Rewards 1 - (size + 0.01) / (average + 0.01), with a moving average of each program's sizes.

    Sizes are in units of the program's initial cost. The average begins at 1, and is
    decay average + (1 - decay) size after each episode (Trofin et al. 2021, section 4.2).
    """

    def __init__(self, decay: float | None) -> None:
        """Start without averages; a `decay` of None leaves rewards unchanged."""
        self.decay = decay
        self.averages: dict[str, float] = {}

    def rewarded(self, played: Sequence[Episode]) -> list[Episode]:
        """Return episodes with this reward at every step, and update the averages.

        The given rewards must be log(cost before / cost after). Crashed episodes keep them and do not count.
        """
        if self.decay is None:
            return list(played)
        found = []
        for episode in played:
            if episode.crashed or not len(episode):
                found.append(episode)
                continue
            size = math.exp(-math.fsum(episode.rewards))
            average = self.averages.get(episode.program, 1.0)
            reward = 1 - (size + SHIFT) / (average + SHIFT)
            self.averages[episode.program] = self.decay * average + (1 - self.decay) * size
            found.append(replace(episode, rewards=[reward] * len(episode)))
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs."""
        return {"averages": dict(self.averages)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another instance."""
        self.averages = dict(state["averages"])
