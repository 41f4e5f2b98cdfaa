"""Double deep Q-learning (Mnih et al. 2015; van Hasselt et al. 2016), with n-step returns and masks.

With `double` off and 1-step returns, an update equals Stable-Baselines3's; the tests compare parameters.
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

from burnish.core.errors import InputError
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
from burnish.learning.agents.policy import ILLEGAL, FlatHead, Policy, QNetwork, as_mask
from burnish.learning.agents.replay import Replay, TransitionBatch, transitions, updates_due
from burnish.learning.agents.rollout import Act, Notes, play, summary


@dataclass(frozen=True)
class DQNConfig:
    """The keys of [algorithm] in a training configuration."""

    steps: int = 45  # fewest of each environment in an iteration; the last episode is played to its end
    act_together: int = 1  # environments that share a forward pass, and wait for each other
    updates_per_step: float = 0.25  # updates per step of one environment
    batch: int = 128
    capacity: int = 100_000  # transitions
    learning_starts: int = 1_000  # steps of all environments before the first update
    learning_rate: float = 3e-4
    discount: float = 0.95
    n_step: int = 3
    double: bool = True
    bootstrap: bool = True  # add the value of a truncated episode's end; False: the step limit is a true end
    tau: float = 1.0  # share of the network's parameters in a new target; the rest is the old target's
    target_interval: int = 200  # updates of the network between two targets
    epsilon_start: float = 1.0  # share of random actions at first
    epsilon_steps: int = 10_000  # steps of all environments, in which the share falls linearly
    epsilon_end: float = 0.05  # share of random actions from then on
    max_gradient_norm: float = 10.0

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        whole = ("steps", "act_together", "batch", "capacity", "n_step", "target_interval", "epsilon_steps")
        shares = ("discount", "tau", "epsilon_start", "epsilon_end")
        rest = ("updates_per_step", "learning_starts", "learning_rate", "max_gradient_norm")
        check_ranges(self, **dict.fromkeys(whole, (1, math.inf)))
        check_ranges(self, **dict.fromkeys(shares, (0, 1)), **dict.fromkeys(rest, (0, math.inf)))


def dqn_targets(
    rewards: Tensor, discounts: Tensor, values: Tensor, masks: Tensor, choosing: Tensor | None = None
) -> Tensor:
    """Return the targets for the values of the actions taken: float32[B].

    y = R + discount * values[argmax over legal a of choosing[a]], with values in the state after R.

    Args:
        rewards: float32[B]: R, of one or more steps.
        discounts: float32[B]: 0 if the episode has ended.
        values: float32[B, n]: of the target network.
        masks: bool[B, n]: legal actions.
        choosing: float32[B, n]: of the trained network (double Q-learning); None: `values`.
    """
    best = (values if choosing is None else choosing).masked_fill(~masks, ILLEGAL).argmax(dim=1, keepdim=True)
    return rewards + discounts * values.gather(1, best).squeeze(1)


def dqn_loss(values: Tensor, actions: Tensor, targets: Tensor) -> Tensor:
    """Return the mean Huber loss of the values float32[B, n] of actions int64[B] to targets float32[B]."""
    return torch.nn.functional.smooth_l1_loss(values.gather(1, actions[:, None]).squeeze(1), targets)


def epsilon(config: DQNConfig, steps: int) -> float:
    """Return the share of random actions after `steps` steps of all environments."""
    done = min(1.0, steps / config.epsilon_steps)
    return config.epsilon_start + done * (config.epsilon_end - config.epsilon_start)


SAVED = Saved("dqn", ("q", "target", "optimizer", "replay"), ("updates",))


class DQN:
    """A learner: see burnish.learning.agents.learner.Learner.

    The logits of its policy are the Q-values, so the most probable action is the best one. But probabilities
    are nearly uniform, because values differ by less than one.
    """

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: DQNConfig | None = None,
        *,
        seed: int,
    ) -> None:
        """Make a Q-network with the encoder of a new policy; its head is always flat.

        If that policy starts with earlier weights, its logits are the first values.

        Raises:
            InputError: such a policy has another head than a flat one.
        """
        self.envs = envs
        self.config = config or DQNConfig()
        self.seed = seed
        with seeded_torch(seed, 0):
            made = make_policy()
            self.q = QNetwork(made.encoder, len(made.actions))
            if made.started:
                if not isinstance(made.head, FlatHead):
                    raise InputError("start_from: dqn begins with a flat head: policy.head = 'flat'")
                self.q.head = made.head.logits
            self.policy = Policy(made.encoder, made.actions, head="flat", critic="none")
        self.policy.head.logits = self.q.head
        self.target = copy.deepcopy(self.q).eval().requires_grad_(False)
        self.optimizer = optimizers.Adam(self.q.parameters(), lr=self.config.learning_rate)
        self.replay = Replay(self.config.capacity)
        self.iterations = self.steps = self.episodes = self.updates = 0

    def iterate(self) -> dict[str, float]:
        """Play episodes in all environments, and learn from the replay buffer."""
        config = self.config
        explore = epsilon(config, self.steps)
        self.iterations += 1
        with seeded_torch(self.seed, self.iterations):
            first = first_program(self.seed, self.episodes)
            self.q.eval()
            played = play(
                self.envs, self._actor(explore), steps=config.steps, seed=first, together=config.act_together
            )
            for episode in played:
                self.replay.extend(
                    transitions(
                        episode, steps=config.n_step, discount=config.discount, bootstrap=config.bootstrap
                    )
                )
            self.steps += sum(map(len, played))
            self.episodes += len(played)
            losses = self._learn(generator(self.seed, self.iterations, self.envs.num_envs))
        now = {"epsilon": explore, "replay": float(len(self.replay))}
        return SAVED.counted(self) | summary(played) | losses | now

    def update(self, batch: TransitionBatch) -> dict[str, Tensor]:
        """Take a gradient step on transitions, update the target if due, and return metrics."""
        config = self.config
        with torch.no_grad():
            following = self.q.collate(batch.next_observations)
            choosing = self.q(following) if config.double else None
            targets = dqn_targets(
                batch.rewards, batch.discounts, self.target(following), batch.next_masks, choosing
            )
        values = self.q(self.q.collate(batch.observations))
        loss = dqn_loss(values, batch.actions, targets)
        norm = descend(self.optimizer, loss, self.q, max_norm=config.max_gradient_norm)
        self.updates += 1
        if self.updates % config.target_interval == 0:
            move_towards(self.target, self.q, config.tau)
        return {"loss/q": loss.detach(), "q": targets.mean(), "gradient_norm": norm}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs; most of the state is the replay buffer."""
        return SAVED.state_of(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another learner."""
        SAVED.load(self, state)

    def _learn(self, rng: np.random.Generator) -> dict[str, float]:
        """Do the updates that are due, and return the means of their metrics."""
        config = self.config
        due = updates_due(self.steps, config.learning_starts, config.updates_per_step) - self.updates
        device = self.q.encoder.device
        self.q.train()
        return means([self.update(self.replay.sample(config.batch, rng, device)) for _ in range(due)])

    def _actor(self, explore: float) -> Act:
        """Return an actor without notes: the best action, or with probability `explore` a random one."""
        rngs = [generator(self.seed, self.iterations, i) for i in range(self.envs.num_envs)]
        device = self.q.encoder.device

        def act(
            numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
        ) -> tuple[NDArray[np.int64], Notes]:
            random = np.array([rngs[i].random(2) for i in numbers])
            actions = np.zeros(len(numbers), dtype=np.int64)
            greedy = np.flatnonzero(random[:, 0] >= explore)
            if len(greedy):
                seen = [observations[i] for i in greedy]
                actions[greedy] = self.policy.act(seen, as_mask(masks[greedy], device)).cpu().numpy()
            for row in np.flatnonzero(random[:, 0] < explore):
                legal = np.flatnonzero(masks[row])
                actions[row] = legal[int(random[row, 1] * len(legal))]
            return actions, np.zeros((len(numbers), 0))

        return act
