"""Updates of a policy of evictions: cloning of LLVM's choices, and reinforcement learning.

The reward is MLGO's (ml-compiler-opt, rl/regalloc). For each function, it is the relative decrease of the
register allocation's cost: 1 - (cost + DELTA) / (cost under LLVM's choices + DELTA).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from burnish.learning.agents.learner import check_ranges, descend
from burnish.learning.agents.policy import FlatHead, Policy
from burnish.learning.agents.ppo import kl_divergence, policy_loss
from burnish.tasks.llvm_codegen.policy.allocating import Allocation, Choices, joined

DELTA = 0.01  # ml-compiler-opt, rl/constant.py


@dataclass(frozen=True)
class EvictionCloningConfig:
    """Settings for cloning LLVM's choices."""

    epochs: int = 30
    batch: int = 256  # decisions
    learning_rate: float = 1e-3
    max_gradient_norm: float = 1.0

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of its range."""
        whole = {"epochs": (0, math.inf), "batch": (1, math.inf)}
        check_ranges(self, **whole, learning_rate=(0.0, math.inf), max_gradient_norm=(0.0, math.inf))


@dataclass(frozen=True)
class EvictionPPOConfig:
    """Settings for learning from whole compiles (PPO)."""

    modules: int = 12  # per iteration
    samples: int = 4  # compiles per module; a function's advantage is its reward minus their mean
    epochs: int = 3
    minibatch: int = 1024  # decisions
    learning_rate: float = 3e-4
    clip: float = 0.2
    entropy_coefficient: float = 0.001
    most_reward: float = 1.0  # limit on the absolute reward of a function
    max_gradient_norm: float = 0.5
    target_kl: float = 0.03  # an epoch of updates ends if the KL divergence is above 1.5 times this

    def __post_init__(self) -> None:
        """Raise InputError if a value is out of its range."""
        whole = dict.fromkeys(("modules", "epochs", "minibatch"), (1, math.inf)) | {"samples": (2, math.inf)}
        rest = ("learning_rate", "entropy_coefficient", "most_reward", "max_gradient_norm", "target_kl")
        check_ranges(self, **whole, clip=(0.0, 1.0), **dict.fromkeys(rest, (0.0, math.inf)))


def rewards(costs: Mapping[str, float], llvms: Mapping[str, float], most: float) -> dict[str, float]:
    """Return each function's reward: 1 - (cost + DELTA) / (LLVM's + DELTA), within [-most, most]."""
    return {
        name: max(-most, min(most, 1 - (costs.get(name, before) + DELTA) / (before + DELTA)))
        for name, before in llvms.items()
    }


def slot_scores(policy: Policy, choices: Choices) -> Tensor:
    """Return the scores of all slots: float32[M]."""
    assert isinstance(policy.head, FlatHead)
    scores: Tensor = policy.head.logits(policy.encoder(torch.from_numpy(choices.inputs)))[:, 0]
    return scores


def log_probabilities(policy: Policy, choices: Choices) -> tuple[Tensor, Tensor]:
    """Return log p of the chosen slots and the entropy of each decision, in nats: float32[N] each."""
    scores = slot_scores(policy, choices)
    counts = torch.from_numpy(choices.counts)
    decision = torch.repeat_interleave(torch.arange(len(counts)), counts)
    most = torch.full((len(counts),), -math.inf).scatter_reduce(0, decision, scores.detach(), "amax")
    shifted = scores - most[decision]
    total = torch.zeros(len(counts)).index_add(0, decision, shifted.exp())
    log_probs = shifted - total.log()[decision]
    entropy = -torch.zeros(len(counts)).index_add(0, decision, log_probs.exp() * log_probs)
    starts = torch.cumsum(counts, 0) - counts
    return log_probs[starts + torch.from_numpy(choices.taken)], entropy


def clone(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    choices: Choices,
    config: EvictionCloningConfig,
    order: NDArray[np.int64],
) -> dict[str, float]:
    """Train for one epoch in the given order; return the mean loss, and `agreement`."""
    loss = 0.0
    for start in range(0, len(order), config.batch):
        some = choices.of(order[start : start + config.batch])
        value = -log_probabilities(policy, some)[0].mean()
        descend(optimizer, value, policy, max_norm=config.max_gradient_norm)
        loss += value.item() * len(some)
    return {"loss/clone": loss / len(order), "agreement": agreement(policy, choices)}


def agreement(policy: Policy, choices: Choices) -> float:
    """Return the share of decisions in which the chosen slot has the largest score."""
    with torch.no_grad():
        scores = slot_scores(policy, choices).numpy()
    starts = np.cumsum(choices.counts) - choices.counts
    best = np.maximum.reduceat(scores, starts)
    return float((scores[starts + choices.taken] >= best).mean())


def advantages(
    samples: Sequence[Sequence[Allocation]], llvms: Sequence[Mapping[str, float]], most: float
) -> tuple[Choices, NDArray[np.float32], float]:
    """Return all decisions of some modules' compiles with their advantages, and the mean reward.

    Args:
        samples: For each module, compiles under the same policy.
        llvms: For each module, the costs under LLVM's heuristic.
        most: See `rewards`.

    Returns:
        The decisions; their advantages float32[N]; the mean reward over functions. An advantage is the reward
        of the decision's function minus that function's mean reward over all compiles of the module.
    """
    tables: list[Choices] = []
    gains: list[float] = []
    every: list[float] = []
    for compiles, before in zip(samples, llvms, strict=True):
        found = [rewards(one.costs, before, most) for one in compiles]
        means = {name: float(np.mean([row[name] for row in found])) for name in before}
        every += means.values()
        for one, row in zip(compiles, found, strict=True):
            tables.append(one.choices)
            gains += [row[name] - means[name] if name in row else 0.0 for name in one.functions]
    return joined(tables), np.array(gains, dtype=np.float32), float(np.mean(every))


def improve(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    batch: tuple[Choices, NDArray[np.float32]],
    config: EvictionPPOConfig,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Run one iteration's updates (Schulman et al. 2017, equation 7, and an entropy bonus)."""
    choices, gains = batch
    scaled = gains / (gains.std() + 1e-8)
    with torch.no_grad():
        before = log_probabilities(policy, choices)[0]
    distance = updates = bonus = 0.0
    for _ in range(config.epochs):
        order = rng.permutation(len(choices))
        for start in range(0, len(order), config.minibatch):
            some = order[start : start + config.minibatch]
            log_probs, entropy = log_probabilities(policy, choices.of(some))
            distance = kl_divergence(log_probs.detach(), before[some]).item()
            if distance > 1.5 * config.target_kl:
                break
            loss = policy_loss(log_probs, before[some], torch.from_numpy(scaled[some]), config.clip)
            bonus = entropy.mean().item()
            loss = loss - config.entropy_coefficient * entropy.mean()
            descend(optimizer, loss, policy, max_norm=config.max_gradient_norm)
            updates += 1
    return {"kl": distance, "updates": updates, "entropy": bonus, "decisions": float(len(choices))}
