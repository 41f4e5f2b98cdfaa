"""Soft actor-critic for discrete actions (Christodoulou 2019, arXiv:1910.07207), with masks.

Expectations over actions are exact sums over the legal ones, not samples. An illegal action has probability 0
and a finite log-probability, so no sum and no gradient is NaN.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from burnish.envs.vector import VectorEnv
from burnish.learning.agents import optimizers
from burnish.learning.agents.checkpoints import Saved
from burnish.learning.agents.learner import (
    check_ranges,
    descend,
    first_program,
    generator,
    means,
    move_towards,
    seeded_torch,
)
from burnish.learning.agents.policy import Policy, QNetwork, as_mask, entropy
from burnish.learning.agents.replay import Replay, TransitionBatch, transitions, updates_due
from burnish.learning.agents.rollout import Act, Notes, draw, play, summary


@dataclass(frozen=True)
class SACConfig:
    """The keys of [algorithm] in a training configuration."""

    steps: int = 45  # fewest of each environment in an iteration; the last episode is played to its end
    act_together: int = 1  # environments that share a forward pass, and wait for each other
    updates_per_step: float = 0.25  # updates per step of one environment
    batch: int = 128
    capacity: int = 100_000  # transitions
    learning_starts: int = 1_000  # random steps of all environments before the first update
    policy_learning_rate: float = 3e-4
    critic_learning_rate: float = 3e-4
    temperature_learning_rate: float = 1e-3
    discount: float = 0.95
    bootstrap: bool = True  # add the value of a truncated episode's end; False: the step limit is a true end
    reward_scale: float = 10.0  # a pass gains a few percent, which without scaling the entropy term outweighs
    tau: float = 0.005  # share of the critics' parameters that moves into the targets in each update
    initial_temperature: float = 0.1
    target_entropy: float = 0.3  # share of the largest possible entropy, log(legal actions), in each state
    max_gradient_norm: float = 10.0  # of the policy, and of each critic

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        rates = [f"{name}_learning_rate" for name in ("policy", "critic", "temperature")]
        rest = ("updates_per_step", "learning_starts", "reward_scale", "max_gradient_norm", *rates)
        whole = ("steps", "act_together", "batch", "capacity")
        check_ranges(self, **dict.fromkeys(whole, (1, math.inf)), **dict.fromkeys(rest, (0, math.inf)))
        check_ranges(self, **dict.fromkeys(("discount", "tau", "target_entropy"), (0, 1)))
        check_ranges(self, initial_temperature=(1e-9, math.inf))


def soft_values(log_probs: Tensor, values: Tensor, masks: Tensor, temperature: Tensor) -> Tensor:
    """Return V(s) = sum over legal a of p(a) (Q(a) - temperature log p(a)): float32[B] of [B, n] each."""
    return (log_probs.exp() * values).masked_fill(~masks, 0).sum(1) + temperature * entropy(log_probs, masks)


def sac_targets(
    rewards: Tensor,
    discounts: Tensor,
    log_probs: Tensor,
    values: tuple[Tensor, Tensor],
    masks: Tensor,
    temperature: Tensor,
) -> Tensor:
    """Return the targets of both critics for the actions taken: R + discount * V(next state), float32[B].

    Args:
        rewards: float32[B].
        discounts: float32[B]: 0 if the episode has ended.
        log_probs: float32[B, n]: the policy's in the next state.
        values: Both target critics' values in the next state, float32[B, n]; the smaller counts.
        masks: bool[B, n]: legal actions in the next state.
        temperature: float32[].
    """
    return rewards + discounts * soft_values(log_probs, torch.min(*values), masks, temperature)


def critic_loss(values: Tensor, actions: Tensor, targets: Tensor) -> Tensor:
    """Return the mean squared error of one critic's values float32[B, n] of actions int64[B]."""
    return torch.nn.functional.mse_loss(values.gather(1, actions[:, None]).squeeze(1), targets)


def actor_loss(
    log_probs: Tensor, values: tuple[Tensor, Tensor], masks: Tensor, temperature: Tensor
) -> Tensor:
    """Return the mean of -V(s), with the smaller of both critics' values for each action."""
    return -soft_values(log_probs, torch.min(*values), masks, temperature).mean()


def temperature_loss(log_temperature: Tensor, entropies: Tensor, masks: Tensor, share: float) -> Tensor:
    """Return log(temperature) * mean(entropy - share * log(legal actions)).

    Its gradient lowers the temperature while the entropy is above the target.
    """
    wanted = share * masks.sum(dim=1).clamp_min(1).float().log()
    return log_temperature * (entropies - wanted).mean().detach()


SAVED = Saved(
    "sac", ("policy", "critics", "targets", "log_temperature", "optimizers", "replay"), ("updates",)
)


class SAC:
    """A learner: see burnish.learning.agents.learner.Learner.

    The policy and each critic have separate encoders of the same kind; the policy's own critic is not used.
    """

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: SACConfig | None = None,
        *,
        seed: int,
    ) -> None:
        """Make the policy, two critics and their targets."""
        self.envs = envs
        self.config = config or SACConfig()
        self.seed = seed
        with seeded_torch(seed, 0):
            self.policy = make_policy()
            count = len(self.policy.actions)
            self.critics = torch.nn.ModuleList(QNetwork(make_policy().encoder, count) for _ in range(2))
        self.targets = copy.deepcopy(self.critics).eval().requires_grad_(False)
        self.log_temperature = torch.tensor(
            math.log(self.config.initial_temperature), device=self.policy.encoder.device, requires_grad=True
        )
        adam, config = optimizers.Adam, self.config
        self.optimizers = {
            "policy": adam(self.policy.parameters(), lr=config.policy_learning_rate),
            "critics": adam(self.critics.parameters(), lr=config.critic_learning_rate),
            "temperature": adam([self.log_temperature], lr=config.temperature_learning_rate),
        }
        self.replay = Replay(config.capacity)
        self.iterations = self.steps = self.episodes = self.updates = 0

    def iterate(self) -> dict[str, float]:
        """Play episodes in all environments, and learn from the replay buffer."""
        config = self.config
        self.iterations += 1
        with seeded_torch(self.seed, self.iterations):
            first = first_program(self.seed, self.episodes)
            self.policy.eval()
            played = play(
                self.envs, self._actor(), steps=config.steps, seed=first, together=config.act_together
            )
            for episode in played:
                self.replay.extend(
                    transitions(episode, steps=1, discount=config.discount, bootstrap=config.bootstrap)
                )
            self.steps += sum(map(len, played))
            self.episodes += len(played)
            losses = self._learn(generator(self.seed, self.iterations, self.envs.num_envs))
        return SAVED.counted(self) | summary(played) | losses | {"replay": float(len(self.replay))}

    def update(self, batch: TransitionBatch) -> dict[str, Tensor]:
        """Take a gradient step of critics, policy and temperature; return metrics."""
        config = self.config
        temperature = self.log_temperature.detach().exp()
        seen = self.policy.collate(batch.observations)
        with torch.no_grad():
            following = self.policy.collate(batch.next_observations)
            wanted = sac_targets(
                batch.rewards * config.reward_scale,
                batch.discounts,
                self.policy.log_probs(following, batch.next_masks),
                (self.targets[0](following), self.targets[1](following)),
                batch.next_masks,
                temperature,
            )
        values = self.critics[0](seen), self.critics[1](seen)
        of_critics = torch.stack([critic_loss(v, batch.actions, wanted) for v in values]).sum()
        self._step("critics", of_critics, *self.critics)
        with torch.no_grad():
            now = self.critics[0](seen), self.critics[1](seen)
        log_probs = self.policy.log_probs(seen, batch.masks)
        of_policy = actor_loss(log_probs, now, batch.masks, temperature)
        self._step("policy", of_policy, self.policy)
        entropies = entropy(log_probs.detach(), batch.masks)
        of_temperature = temperature_loss(self.log_temperature, entropies, batch.masks, config.target_entropy)
        self._step("temperature", of_temperature)
        for slow, fast in zip(self.targets, self.critics, strict=True):
            move_towards(slow, fast, config.tau)
        self.updates += 1
        return {
            "loss/critics": of_critics.detach(),
            "loss/policy": of_policy.detach(),
            "entropy": entropies.mean(),
            "q": wanted.mean(),
            "temperature": temperature,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs; most of the state is the replay buffer."""
        return SAVED.state_of(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another learner."""
        SAVED.load(self, state)

    def _step(self, name: str, loss: Tensor, *networks: torch.nn.Module) -> None:
        """Take a gradient step, with each network's gradient clipped separately."""
        descend(self.optimizers[name], loss, *networks, max_norm=self.config.max_gradient_norm)

    def _learn(self, rng: np.random.Generator) -> dict[str, float]:
        """Do the updates that are due, and return the means of their metrics."""
        config = self.config
        due = updates_due(self.steps, config.learning_starts, config.updates_per_step) - self.updates
        device = self.policy.encoder.device
        self.policy.train()
        self.critics.train()
        return means([self.update(self.replay.sample(config.batch, rng, device)) for _ in range(due)])

    def _actor(self) -> Act:
        """Return an actor that draws actions: uniformly before learning starts, then from the policy."""
        rngs = [generator(self.seed, self.iterations, i) for i in range(self.envs.num_envs)]
        device = self.policy.encoder.device
        learning = self.steps >= self.config.learning_starts

        def act(
            numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
        ) -> tuple[NDArray[np.int64], Notes]:
            if learning:
                with torch.no_grad():
                    batch = self.policy.collate(observations)
                    log_probs = self.policy.log_probs(batch, as_mask(masks, device)).cpu().numpy()
            else:
                log_probs = np.where(masks, 0, -np.inf).astype(np.float32)
            uniform = np.array([rngs[i].random() for i in numbers])
            return draw(log_probs, uniform), np.zeros((len(numbers), 0))

        return act
