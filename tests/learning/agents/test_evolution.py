from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from burnish.core.errors import InputError
from burnish.learning.agents.evolution import (
    Evolution,
    EvolutionConfig,
    ars_direction,
    centred_ranks,
    gradient,
)
from burnish.learning.agents.policy import Policy
from burnish.learning.agents.rollout import play
from tests.core.counting_task import OPTIMUM, counters
from tests.learning.agents.problems import (
    PASSES,
    assert_goes_on_alike,
    counting_envs,
    counting_policy,
    llvm_envs,
    llvm_optimum,
    llvm_policy,
    play_greedily,
)


def quadratic(dimension: int, seed: int = 0) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """Return b x - x A x / 2 of rows, and its gradient b - A x at one point."""
    rng = torch.Generator().manual_seed(seed)
    root = torch.randn(dimension, dimension, generator=rng, dtype=torch.float64)
    curvature = root @ root.T
    slope = torch.randn(dimension, generator=rng, dtype=torch.float64)
    return (
        lambda rows: rows @ slope - ((rows @ curvature) * rows).sum(dim=-1) / 2,
        lambda point: slope - curvature @ point,
    )


def test_ranks_by_hand() -> None:
    assert centred_ranks(torch.tensor([3.0, -1.0, 100.0])).tolist() == [0.0, -0.5, 0.5]
    assert centred_ranks(torch.tensor([1.0, 1.0, 0.0, 2.0, 1.0])).tolist() == [0.0, 0.0, -0.5, 0.5, 0.0]
    assert centred_ranks(torch.tensor([2.0, 2.0])).tolist() == [0.0, 0.0]
    assert centred_ranks(torch.tensor([5.0])).tolist() == [-0.5 + 0.0]


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=20))
def test_ranks_only_depend_on_the_order_and_have_mean_0(values: list[int]) -> None:
    ranks = centred_ranks(torch.tensor(values, dtype=torch.float32))
    assert ranks.mean().item() == pytest.approx(0.0, abs=1e-6)
    stretched = torch.tensor([float(value) ** 3 for value in values])
    assert torch.equal(centred_ranks(stretched), ranks)


@pytest.mark.parametrize("sigma", [0.01, 1.0, 10.0])
def test_in_orthogonal_directions_the_gradient_of_a_quadratic_is_exact(sigma: float) -> None:
    """The second-order terms of opposite perturbations cancel; sum_i e_i e_i' = P times the identity."""
    dimension = 6
    fitness, analytic = quadratic(dimension)
    rotated, _ = torch.linalg.qr(torch.randn(dimension, dimension, dtype=torch.float64))
    noise = rotated * dimension**0.5
    point = torch.linspace(-1, 1, dimension, dtype=torch.float64)
    found = gradient(noise, fitness(point + sigma * noise), fitness(point - sigma * noise), sigma)
    torch.testing.assert_close(found, analytic(point))


def test_in_random_directions_it_is_right_on_average() -> None:
    fitness, analytic = quadratic(5)
    noise = torch.randn(200_000, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    point = torch.full((5,), 0.5, dtype=torch.float64)
    found = gradient(noise, fitness(point + 0.1 * noise), fitness(point - 0.1 * noise), 0.1)
    torch.testing.assert_close(found, analytic(point), rtol=0.03, atol=0.03)


def test_augmented_random_search_by_hand() -> None:
    """Of the pairs' maxima 1, 5, 3 the best two are the second and the third."""
    noise = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    plus, minus = torch.tensor([1.0, 5.0, 1.0]), torch.tensor([0.0, 1.0, 3.0])
    deviation = float(np.std([5.0, 1.0, 1.0, 3.0]))
    expected = [-2 / (2 * deviation), (4 - 2) / (2 * deviation)]
    assert ars_direction(noise, plus, minus, 2).tolist() == pytest.approx(expected)
    assert ars_direction(noise, torch.ones(3), torch.ones(3), 2).tolist() == [0.0, 0.0]


def test_policies_of_an_iteration_play_the_same_programs_and_those_of_the_next_play_others() -> None:
    names = [f"a={n}" for n in range(40, 52)]
    envs = counting_envs(2, programs=[counters(name) for name in names])
    seen: list[list[int]] = []

    def watched(observations: Any, masks: Any, generator: Any = None) -> Tensor:
        if len(observations) == 2:
            seen.append([int(row[0]) for row in observations])
        return Policy.act(agent.policy, observations, masks, generator)

    agent = Evolution(envs, counting_policy, EvolutionConfig(pairs=3, episodes=2), seed=5)
    agent.policy.act = watched  # type: ignore[method-assign]
    agent.iterate()
    plays = 3 * 2 * 2
    assert agent.episodes == plays * 2
    beginnings = seen[:: agent.steps // 2 // plays]
    assert len(beginnings) == plays
    assert beginnings[0::2] == [beginnings[0]] * 6
    assert beginnings[1::2] == [beginnings[1]] * 6
    seen.clear()
    agent.iterate()
    following = [*beginnings[0], *beginnings[1], *seen[0]]
    assert [(n - following[0]) % 12 for n in following] == [0, 1, 2, 3, 4, 5]


def test_a_step_is_the_gradient_of_what_was_played() -> None:
    """By plain SGD on returns: parameters move by the learning rate times the estimate, a critic's do not."""
    config = EvolutionConfig(
        pairs=4, shaping="returns", optimizer="sgd", momentum=0.0, learning_rate=0.5, weight_decay=0.1
    )
    agent = Evolution(counting_envs(1), counting_policy, config, seed=0)
    directions = []
    original = agent.direction

    def noted(noise: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
        directions.append((noise, plus, minus, original(noise, plus, minus)))
        return directions[-1][-1]

    agent.direction = noted  # type: ignore[method-assign]
    before = agent.centre.detach().clone()
    critic = [parameter.detach().clone() for parameter in agent.policy.critic.parameters()]  # type: ignore[union-attr]
    agent.iterate()
    ((noise, plus, minus, found),) = directions
    torch.testing.assert_close(found, gradient(noise, plus, minus, config.sigma))
    torch.testing.assert_close(agent.centre.detach(), before + 0.5 * (found - 0.1 * before))
    assert plus.tolist() != minus.tolist()
    flat = torch.cat(
        [p.detach().ravel() for p in (*agent.policy.encoder.parameters(), *agent.policy.head.parameters())]
    )
    assert torch.equal(flat, agent.centre.detach())
    for now, then in zip(agent.policy.critic.parameters(), critic, strict=True):  # type: ignore[union-attr]
        assert torch.equal(now, then)


SETTINGS: dict[str, dict[str, Any]] = {
    "ranks and Adam": {"pairs": 8, "sigma": 0.1, "learning_rate": 0.05},
    "drawn actions": {"pairs": 8, "sigma": 0.1, "learning_rate": 0.05, "sample": True},
    "augmented random search": {
        "pairs": 8,
        "top": 4,
        "shaping": "ars",
        "optimizer": "sgd",
        "momentum": 0.0,
        "sigma": 0.1,
        "learning_rate": 0.1,
    },
}


@pytest.mark.parametrize(
    "name",
    [
        "ranks and Adam",
        pytest.param("drawn actions", marks=pytest.mark.slow),
        pytest.param("augmented random search", marks=pytest.mark.slow),
    ],
)
def test_evolution_finds_the_optimum_of_counting(name: str) -> None:
    small = partial(counting_policy, hidden=(16,), critic="none")
    agent = Evolution(counting_envs(1), small, EvolutionConfig(**SETTINGS[name]), seed=0)
    for _ in range(40):
        agent.iterate()
    assert play_greedily(agent.policy, agent.envs) == OPTIMUM


@pytest.mark.slow
def test_evolution_finds_the_best_sequence_of_passes() -> None:
    envs, rng = llvm_envs(1), np.random.default_rng(0)

    def at_random(numbers: Sequence[int], observations: list[Any], masks: Any) -> Any:
        return rng.integers(len(PASSES), size=len(numbers)), np.zeros((len(numbers), 0))

    seen = [row for e in play(envs, at_random, steps=400, seed=0) for row in e.observations]

    def standardized() -> Policy:
        policy = llvm_policy(hidden=(16,), critic="none")
        policy.encoder.standardize(seen)  # type: ignore[operator]
        return policy

    agent = Evolution(envs, standardized, EvolutionConfig(sigma=0.1, learning_rate=0.05), seed=3)
    for _ in range(25):
        agent.iterate()
    assert play_greedily(agent.policy, agent.envs) == llvm_optimum()


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_evolution_goes_on_from_its_state_to_the_same_metrics(optimizer: Any) -> None:
    config = EvolutionConfig(pairs=3, optimizer=optimizer, sample=True)
    envs = counting_envs(2, programs=[counters("a=64"), counters("a=9 b=2"), counters("a=7")])
    assert_goes_on_alike(lambda: Evolution(envs, counting_policy, config, seed=3), 3, 3)


def test_what_cannot_be_configured_is_refused() -> None:
    with pytest.raises(InputError, match="top: expected a number from 1 to 4, not 5"):
        EvolutionConfig(pairs=4, top=5)
    with pytest.raises(InputError, match="expected 'ranks', 'returns' or 'ars', not 'rank'"):
        EvolutionConfig(shaping="rank")  # type: ignore[arg-type]
