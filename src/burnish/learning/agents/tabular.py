"""Q-learning with a table: Watkins's Q(lambda) (1989), for problems with few states.

A state is an observation of any kind: counts, a graph, the last actions. With LLVM's `trace` observation
every sequence of actions is a separate state; with counts, many sequences lead to the same state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from burnish.core.view import Mask
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.checkpoints import Saved
from burnish.learning.agents.learner import check_ranges, first_program, generator
from burnish.learning.agents.policy import Masks
from burnish.learning.agents.rollout import Act, Episode, Notes, play, summary
from burnish.policies.value_table import KEY_BYTES, TablePolicy, state_key

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TabularQConfig:
    """The keys of [algorithm] in a training configuration."""

    steps: int = 180  # fewest of each environment in an iteration; the last episode is played to its end
    learning_rate: float = 0.5  # 1 is right if nothing is random
    discount: float = 0.99  # at 1, an action without effect has the same value as the best later action
    trace_decay: float = 0.9  # lambda
    bootstrap: bool = True  # add the value of a truncated episode's end; False: the step limit is a true end
    initial_value: float = 0.0  # of actions never tried; a large value makes the policy try them
    epsilon_start: float = 1.0  # share of random actions at first
    epsilon_steps: int = 10_000  # steps of all environments, in which the share falls linearly
    epsilon_end: float = 0.05  # share of random actions from then on

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of range."""
        names = ("learning_rate", "discount", "trace_decay", "epsilon_start", "epsilon_end")
        whole = dict.fromkeys(("steps", "epsilon_steps"), (1, math.inf))
        check_ranges(self, **whole, **dict.fromkeys(names, (0.0, 1.0)))


def lambda_returns(
    rewards: Floats, next_values: Floats, explored: Mask, *, discount: float, trace_decay: float
) -> Floats:
    """Return an episode's lambda-returns, cut before every exploratory action.

    G_t = r_t + discount ((1 - lambda) V_{t+1} + lambda G_{t+1}). V_{t+1} replaces G_{t+1} at the end, and
    if action t + 1 was exploratory, because the greedy policy that is learned would not have taken it.

    Args:
        rewards: r, [L].
        next_values: V_{t+1}, [L]: of the state after each step; 0 if no action can follow.
        explored: bool[L]: True if the action was exploratory (not greedy).
        discount: Discount per step.
        trace_decay: lambda.
    """
    returns = np.zeros(len(rewards))
    following = next_values[-1]
    for t in range(len(rewards) - 1, -1, -1):
        if t + 1 < len(rewards) and explored[t + 1]:
            following = next_values[t]
        returns[t] = rewards[t] + discount * ((1 - trace_decay) * next_values[t] + trace_decay * following)
        following = returns[t]
    return returns


def falling(start: float, end: float, share: float) -> float:
    """Return the linear interpolation from `start`, at a share of 0, to `end`, at 1 and above."""
    return end + (start - end) * max(0.0, 1.0 - share)


class QTable:
    """A table of action values by state, for the states that were visited; an Actor."""

    def __init__(self, actions: int, initial_value: float = 0.0) -> None:
        """Make an empty table."""
        self.actions = actions
        self.initial_value = initial_value
        self._rows: dict[bytes, Floats] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, observation: Any) -> Floats:
        """Return the values of the actions in a state, float64[n], which must not be modified."""
        row = self._rows.get(state_key(observation))
        return np.full(self.actions, self.initial_value) if row is None else row

    def best(self, observation: Any, mask: Mask) -> float:
        """Return the largest value of a legal action; 0 if no action is legal."""
        return float(self.row(observation)[mask].max(initial=-np.inf)) if mask.any() else 0.0

    def move(self, observation: Any, action: int, target: float, rate: float) -> float:
        """Move a value towards a target by the share `rate` of the difference; return the difference."""
        row = self._rows.setdefault(state_key(observation), np.full(self.actions, self.initial_value))
        error = target - float(row[action])
        row[action] += rate * error
        return error

    def act(
        self,
        observations: Sequence[Any],
        masks: Masks,
        generator: torch.Generator | None = None,
        *,
        epsilon: float = 0.0,
    ) -> Tensor:
        """Choose the legal action of the largest value in B states: int64[B]; the first of equal ones.

        With a generator, choose a random legal action with probability `epsilon`, and break ties randomly.
        """
        rng = None
        if generator is not None:
            rng = np.random.default_rng(int(torch.randint(2**63 - 1, (), generator=generator)))
        chosen = [
            self.choose(seen, np.asarray(mask), rng, epsilon)[0]
            for seen, mask in zip(observations, masks, strict=True)
        ]
        return torch.tensor(chosen)

    def choose(
        self, observation: Any, mask: Mask, rng: np.random.Generator | None, epsilon: float
    ) -> tuple[int, bool]:
        """Return an action as `act` does, and whether it was exploratory (not greedy)."""
        row = np.where(mask, self.row(observation), -np.inf)
        best = np.flatnonzero(row == row.max())
        if rng is None:
            return int(best[0]), False
        legal = np.flatnonzero(mask)
        action = int(rng.choice(legal if rng.random() < epsilon else best))
        return action, action not in best

    def as_policy(self, actions: tuple[str, ...], card: Mapping[str, Any]) -> TablePolicy:
        """Return the table as a policy that needs no torch."""
        return TablePolicy(actions, self._rows, self.initial_value, card)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the N states' keys, uint8[N, KEY_BYTES], and values, float64[N, n]."""
        keys = np.frombuffer(b"".join(self._rows), dtype=np.uint8).reshape(-1, KEY_BYTES)
        values = np.array(list(self._rows.values())).reshape(-1, self.actions)
        return {"keys": torch.from_numpy(keys.copy()), "values": torch.from_numpy(values)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Replace the table's content with that of `state`."""
        pairs = zip(state["keys"].numpy(), state["values"].numpy(), strict=True)
        self._rows = {key.tobytes(): row.copy() for key, row in pairs}


SAVED = Saved("tabular", ("policy",))


class TabularQ:
    """A learner: see burnish.learning.agents.learner.Learner."""

    def __init__(
        self, envs: VectorEnv, make_policy: object = None, config: TabularQConfig | None = None, *, seed: int
    ) -> None:
        """Make an empty table; `make_policy` is not used."""
        self.envs = envs
        self.config = config or TabularQConfig()
        self.seed = seed
        actions = int(envs.single_action_space.n)  # type: ignore[attr-defined]
        self.policy = QTable(actions, self.config.initial_value)
        self.iterations = self.steps = self.episodes = 0

    def iterate(self) -> dict[str, float]:
        """Play episodes in all environments, and learn from each of their steps."""
        config = self.config
        self.iterations += 1
        epsilon = falling(config.epsilon_start, config.epsilon_end, self.steps / config.epsilon_steps)
        first = first_program(self.seed, self.episodes)
        played = play(self.envs, self._actor(epsilon), steps=config.steps, seed=first)
        errors = [abs(error) for episode in played for error in self.learn(episode)]
        self.steps += len(errors)
        self.episodes += len(played)
        return {
            **SAVED.counted(self),
            "states": float(len(self.policy)),
            **summary(played),
            "loss/error": float(np.mean(errors)),
            "epsilon": epsilon,
        }

    def learn(self, episode: Episode) -> list[float]:
        """Move the values of an episode's actions towards their returns; return the differences: [L]."""
        config, table = self.config, self.policy
        states = zip(episode.observations[1:], episode.masks[1:], strict=True)
        next_values = np.array([table.best(*state) for state in states])
        if episode.terminated or not config.bootstrap:
            next_values[-1] = 0.0
        returns = lambda_returns(
            np.array(episode.rewards),
            next_values,
            np.array(episode.notes)[:, 0] > 0,
            discount=config.discount,
            trace_decay=config.trace_decay,
        )
        steps = zip(episode.observations[:-1], episode.actions, returns.tolist(), strict=True)
        return [table.move(*step, config.learning_rate) for step in steps]

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs."""
        return SAVED.state_of(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of another learner."""
        SAVED.load(self, state)

    def _actor(self, epsilon: float) -> Act:
        """Return an actor that takes greedy or random actions, and notes which are exploratory."""
        rngs = [generator(self.seed, self.iterations, i) for i in range(self.envs.num_envs)]

        def act(
            numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]
        ) -> tuple[NDArray[np.int64], Notes]:
            states = zip(observations, masks, numbers, strict=True)
            chosen = [self.policy.choose(seen, mask, rngs[i], epsilon) for seen, mask, i in states]
            actions, explored = np.array(chosen).T
            return actions.astype(np.int64), explored[:, None].astype(np.float64)

        return act
