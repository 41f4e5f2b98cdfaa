"""Temporal-difference learning of state values, with a look-ahead of one action that chooses by these values.

Every legal action, or the actor's most probable ones, is tried in a fork of the environment, and the action
with the largest r + discount V(s') is taken. V is learned by TD(lambda) (Sutton 1988), with Watkins's cuts,
from the latest states. The outcomes of all actions tried there are kept, so the best action can be recomputed
with current values. The actor learns to predict the result of the look-ahead, so that the trained policy
needs no forks, and a look-ahead among many actions can be narrow.

Two things to know. First, values have errors, and an action without effect costs only a share of 1 - discount
of a value. If that is less than the errors, the look-ahead postpones the best action, so the discount should
not be near 1. Second, values assume that an episode never ends. If a step limit is a true end (`bootstrap =
False`), observations must contain the number of steps left, as LLVM's `trace` does.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.core.view import Mask
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.agents import optimizers
from burnish.learning.agents.checkpoints import Saved
from burnish.learning.agents.learner import check_ranges, descend, first_program, generator, seeded_torch
from burnish.learning.agents.policy import Policy, as_mask
from burnish.learning.agents.rollout import Act, Notes, play, summary
from burnish.learning.agents.tabular import falling


@dataclass(frozen=True)
class TDConfig:
    """The keys of [algorithm] in a training configuration."""

    steps: int = 45  # fewest of each environment in an iteration; the last episode is played to its end
    breadth: int | None = (
        None  # most actions that are tried in each state, the most probable, beside a random one; None: all
    )
    discount: float = 0.8  # see above
    trace_decay: float = 0.9  # lambda
    bootstrap: bool = True  # add the value of a truncated episode's end; False: the step limit is a true end
    epsilon_start: float = 0.5  # share of random actions at first
    epsilon_steps: int = 10_000  # steps of all environments, in which the share falls linearly
    epsilon_end: float = 0.1  # share of random actions from then on
    capacity: int = 2000  # states to learn from; each is kept with the outcomes of all actions tried there
    epochs: int = 8
    minibatch: int = 256
    learning_rate: float = 1e-3
    actor_coefficient: float = (
        0.5  # weight of the actor's cross-entropy to the look-ahead's action; the values' error has 1
    )
    max_gradient_norm: float = 1.0

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        names = ("steps", "breadth", "epsilon_steps", "capacity", "epochs", "minibatch")
        shares = ("discount", "trace_decay", "epsilon_start", "epsilon_end")
        rest = ("learning_rate", "actor_coefficient", "max_gradient_norm")
        ranges = [(names, (1, math.inf)), (shares, (0.0, 1.0)), (rest, (0.0, math.inf))]
        check_ranges(self, **{name: bounds for group, bounds in ranges for name in group})


def value_targets(
    rewards: Floats, next_values: Floats, best: Floats, explored: Mask, *, discount: float, trace_decay: float
) -> Floats:
    """Return the targets for the values of an episode's states: T, [L].

    T_t = r_t + discount ((1 - lambda) V_{t+1} + lambda T_{t+1}), the lambda-return, with V_{t+1} for T_{t+1}
    at the end. If the action taken was not the best, its outcome does not count: T_t = best_t.

    Args:
        rewards: r, [L].
        next_values: V_{t+1}, [L]: of the state after each step; 0 if no action can follow.
        best: The largest r + discount V(s') of the actions tried, [L].
        explored: bool[L]: True if the action taken was not the best.
        discount: Discount per step.
        trace_decay: lambda.
    """
    targets = np.zeros(len(rewards))
    following = next_values[-1]
    for t in range(len(rewards) - 1, -1, -1):
        mixed = (1 - trace_decay) * next_values[t] + trace_decay * following
        targets[t] = following = best[t] if explored[t] else rewards[t] + discount * mixed
    return targets


def best_and_targets(
    episode: Sequence[Tried],
    worth: Sequence[Floats],
    after: Sequence[Floats],
    *,
    discount: float,
    trace_decay: float,
) -> tuple[list[int], Floats]:
    """Return an episode's best actions, L, and value targets, [L], from the results of `scores`."""
    best = [int(row.argmax()) for row in worth]
    targets = value_targets(
        np.array([state.rewards[state.taken] for state in episode]),
        np.array([row[state.taken] for state, row in zip(episode, after, strict=True)]),
        np.array([row[i] for row, i in zip(worth, best, strict=True)]),
        np.array([state.taken != i for state, i in zip(episode, best, strict=True)]),
        discount=discount,
        trace_decay=trace_decay,
    )
    return [state.actions[i] for state, i in zip(episode, best, strict=True)], targets


SAVED = Saved("td", ("policy", "optimizer"), ("tried",))


class TD:
    """A learner: see burnish.learning.agents.learner.Learner. `choose` looks ahead; `policy` does not."""

    def __init__(
        self,
        envs: VectorEnv,
        make_policy: Callable[[], Policy],
        config: TDConfig | None = None,
        *,
        seed: int,
    ) -> None:
        """Make the policy, which needs a critic, and its optimizer."""
        self.envs = envs
        self.config = config or TDConfig()
        self.seed = seed
        with seeded_torch(seed, 0):
            self.policy = make_policy()
        self.optimizer = optimizers.Adam(self.policy.parameters(), lr=self.config.learning_rate)
        self.replay: deque[list[Tried]] = deque()  # episodes
        self.iterations = self.steps = self.episodes = self.tried = 0

    def iterate(self) -> dict[str, float]:
        """Play episodes with look-ahead, and train on the kept states for some epochs.

        "tried" is the number of actions tried in forks, in total. "agreement" is the share of states in which
        the actor's most probable action is the look-ahead's.
        """
        config = self.config
        self.iterations += 1
        epsilon = falling(config.epsilon_start, config.epsilon_end, self.steps / config.epsilon_steps)
        states: list[list[Tried]] = [[] for _ in self.envs.envs]
        with seeded_torch(self.seed, self.iterations):
            self.policy.eval()
            first = first_program(self.seed, self.episodes)
            actor = self._actor(epsilon, states)
            together = self.envs.num_envs  # so that their workers try actions at the same time
            played = play(self.envs, actor, steps=config.steps, seed=first, together=together)
            in_order = (state for of_one in states for state in of_one)
            self._keep([[next(in_order) for _ in episode.actions] for episode in played])
            losses = self._learn()
        self.steps += sum(map(len, played))
        self.episodes += len(played)
        return SAVED.counted(self) | summary(played) | losses | {"epsilon": epsilon}

    def choose(
        self,
        envs: Sequence[Env],
        observations: Sequence[Any],
        masks: NDArray[np.bool_],
        forced: Sequence[int | None] = (),
    ) -> tuple[NDArray[np.int64], list[Tried]]:
        """Look ahead in B environments: (best actions int64[B], states with the outcomes of tried actions).

        A `forced` action is tried, too, and taken.
        """
        forced = forced or [None] * len(envs)
        choices = self._choices(observations, masks)
        for actions, action in zip(choices, forced, strict=True):
            if action is not None and action not in actions:
                actions.append(action)
        tried = try_all(envs, observations, masks, choices, bootstrap=self.config.bootstrap)
        self.tried += sum(map(len, choices))
        worth, _ = scores(tried, self._values(self._batches(ends(tried))), self.config.discount)
        taken = [
            int(row.argmax()) if action is None else state.actions.index(action)
            for state, row, action in zip(tried, worth, forced, strict=True)
        ]
        tried = [state._replace(taken=i) for state, i in zip(tried, taken, strict=True)]
        return np.array([state.actions[state.taken] for state in tried], dtype=np.int64), tried

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs."""
        episodes = [[tuple(state) for state in episode] for episode in self.replay]
        return SAVED.state_of(self) | {"replay": episodes}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another learner."""
        SAVED.load(self, state)
        self.replay = deque([Tried(*kept) for kept in episode] for episode in state["replay"])

    def _actor(self, epsilon: float, states: list[list[Tried]]) -> Act:
        """Return an actor that looks ahead or takes a random action, and adds outcomes to `states`."""
        rngs = [generator(self.seed, self.iterations, i) for i in range(self.envs.num_envs)]

        def act(
            numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
        ) -> tuple[NDArray[np.int64], Notes]:
            forced = [
                int(rngs[i].choice(np.flatnonzero(mask))) if rngs[i].random() < epsilon else None
                for i, mask in zip(numbers, masks, strict=True)
            ]
            envs = [self.envs.envs[i] for i in numbers]
            actions, tried = self.choose(envs, observations, masks, forced)
            for i, state in zip(numbers, tried, strict=True):
                states[i].append(state)
            return actions, np.zeros((len(numbers), 0))

        return act

    def _choices(self, observations: Sequence[Any], masks: NDArray[np.bool_]) -> list[list[int]]:
        """Return the legal actions of each environment; if there are too many, the `breadth` likeliest."""
        legal = [np.flatnonzero(mask).tolist() for mask in masks]
        breadth = self.config.breadth
        if breadth is None or max(map(len, legal)) <= breadth:
            return legal
        with torch.no_grad():
            batch = self.policy.collate(observations)
            log_probs = self.policy.log_probs(batch, as_mask(masks, self.policy.encoder.device))
        order = log_probs.argsort(dim=1, descending=True, stable=True).cpu().numpy()
        return [row[: min(breadth, len(actions))].tolist() for row, actions in zip(order, legal, strict=True)]

    def _batches(self, observations: Sequence[Any]) -> list[Any]:
        """Return observations in batches of at most a minibatch."""
        size = self.config.minibatch
        parts = [observations[i : i + size] for i in range(0, len(observations), size)]
        return [self.policy.collate(part) for part in parts]

    def _values(self, batches: Sequence[Any]) -> Floats:
        """Return the values V of the M observations in some batches: float64[M]."""
        with torch.no_grad():
            found = [self.policy.values(batch).cpu().numpy() for batch in batches]
        return np.concatenate([np.zeros(0), *found])

    def _keep(self, episodes: Iterable[list[Tried]]) -> None:
        """Add episodes, and drop the oldest ones while more than `capacity` states are kept."""
        self.replay.extend(episodes)
        states = sum(map(len, self.replay))
        while len(self.replay) > 1 and states > self.config.capacity:
            states -= len(self.replay.popleft())

    def _learn(self) -> dict[str, float]:
        """Take a gradient step on each minibatch of each epoch; return the means of the metrics."""
        config, device = self.config, self.policy.encoder.device
        states = [state for episode in self.replay for state in episode]
        masks = as_mask([state.mask for state in states], device)
        following = self._batches(ends(states))
        rng = generator(self.seed, self.iterations, self.envs.num_envs)
        measured = []
        for _ in range(config.epochs):
            self.policy.eval()
            best, targets = self._best_and_targets(states, self._values(following))
            self.policy.train()
            order = torch.from_numpy(rng.permutation(len(states)))
            for chosen in order.split(config.minibatch):
                batch = self.policy.collate([states[i].observation for i in chosen.tolist()])
                rows = chosen.to(device)
                log_probs, values = self.policy.evaluate(batch, masks[rows])
                measured.append(self._update(log_probs, values, best[rows], targets[rows]))
        value_loss, actor_loss, agreement = np.mean(measured, axis=0).tolist()
        return {"loss/value": value_loss, "loss/actor": actor_loss, "agreement": agreement}

    def _best_and_targets(self, states: Sequence[Tried], values: Floats) -> tuple[Tensor, Tensor]:
        """Return the best actions in the N kept states, int64[N], and value targets, float32[N]."""
        config, device = self.config, self.policy.encoder.device
        worth, after = scores(states, values, config.discount)
        actions: list[int] = []
        targets: list[float] = []
        for episode in self.replay:
            rows = slice(len(actions), len(actions) + len(episode))
            rates = {"discount": config.discount, "trace_decay": config.trace_decay}
            best, wanted = best_and_targets(episode, worth[rows], after[rows], **rates)
            actions += best
            targets += wanted.tolist()
        return torch.tensor(actions, device=device), torch.tensor(targets, device=device)

    def _update(
        self, log_probs: Tensor, values: Tensor, best: Tensor, targets: Tensor
    ) -> tuple[float, float, float]:
        """Take an optimizer step; return the critic's loss, the actor's loss, and its agreement."""
        value_loss = nn.functional.mse_loss(values, targets)
        actor_loss = nn.functional.nll_loss(log_probs, best)
        loss = value_loss + self.config.actor_coefficient * actor_loss
        descend(self.optimizer, loss, self.policy, max_norm=self.config.max_gradient_norm)
        agreement = (log_probs.argmax(dim=-1) == best).float().mean()
        return value_loss.item(), actor_loss.item(), agreement.item()


Floats = NDArray[np.float64]


class Tried(NamedTuple):
    """A state, and the outcomes of k actions in it."""

    observation: Any
    mask: Mask  # bool[n]
    actions: list[int]  # k, legal
    rewards: list[float]  # k
    ongoing: list[bool]  # k: True if the resulting state has a value
    following: list[Any]  # k: observations of the resulting states
    taken: int = 0  # position, among the k, of the action with which the episode continued


def try_all(
    envs: Sequence[Env],
    observations: Sequence[Any],
    masks: NDArray[np.bool_],
    choices: Sequence[Sequence[int]],
    *,
    bootstrap: bool = True,
) -> list[Tried]:
    """Try some legal actions in each of B environments, whose own states do not change.

    The environments' workers run in parallel, each with one action at a time.

    Args:
        envs: Environments, which are forked once for each action.
        observations: Their current observations.
        masks: Legal actions, bool[B, n].
        choices: Actions to try in each environment.
        bootstrap: Whether a state at the step limit has a value; a state without legal actions never has one.
    """
    states = zip(observations, masks, choices, strict=True)
    found = [Tried(seen, mask, list(actions), [], [], []) for seen, mask, actions in states]
    for turn in range(max(map(len, choices))):
        numbers = [i for i, actions in enumerate(choices) if turn < len(actions)]
        twins = [envs[i].fork() for i in numbers]
        begun = [twin.begin_step(choices[i][turn]) for i, twin in zip(numbers, twins, strict=True)]
        for i, twin, finish in zip(numbers, twins, begun, strict=True):
            observed, reward, terminated, truncated, _ = finish()
            twin.close()
            found[i].rewards.append(reward)
            found[i].ongoing.append(not terminated and (bootstrap or not truncated))
            found[i].following.append(observed)
    return found


def ends(tried: Sequence[Tried]) -> list[Any]:
    """Return the observations whose values are needed, in order: after every action that is `ongoing`."""
    pairs = (pair for state in tried for pair in zip(state.following, state.ongoing, strict=True))
    return [observed for observed, ongoing in pairs if ongoing]


def scores(tried: Sequence[Tried], values: Floats, discount: float) -> tuple[list[Floats], list[Floats]]:
    """Return the scores r + discount V(s') of the actions tried in B states, and V(s'): [k] each.

    `values` are those of the observations that `ends` returns.
    """
    found = iter(values.tolist())
    after = [np.array([next(found) if ongoing else 0.0 for ongoing in state.ongoing]) for state in tried]
    worth = [np.array(state.rewards) + discount * rest for state, rest in zip(tried, after, strict=True)]
    return worth, after
