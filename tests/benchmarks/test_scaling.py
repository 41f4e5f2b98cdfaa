"""The model of many machines: cases that are known by hand, and formulas against simulations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from many_machines import formulas, simulated
from many_machines.costs import Costs, changed
from scaling import difference, table, trainings

COSTS = Costs(
    steps=360,
    length=15,
    step=0.002,
    step_sigma=0.8,
    program_sigma=0.4,
    epochs=4,
    minibatch=256,
    gradient=0.001,
    row=1e-5,
    gradient_sigma=0.1,
    parameters=580_000,
    latency=1e-4,
    bandwidth=1e9,
    driver=5e-4,
    worker=1e-3,
)
ALIKE = replace(COSTS, step_sigma=0.0, program_sigma=0.0, gradient_sigma=0.0, row=0.0)


def test_one_rank_without_noise_is_a_sum() -> None:
    """360 steps of 2 ms, and four epochs of two minibatches of 1 ms."""
    found = formulas.iteration(ALIKE, 1)
    assert found.play == pytest.approx(0.72)
    assert found.learn == pytest.approx(0.008)
    assert found.steps == pytest.approx(360)
    assert found.rate == pytest.approx(360 / 0.728)


def test_a_ring_sends_each_part_twice_around() -> None:
    assert formulas.all_reduce(COSTS, 1) == 0
    assert formulas.all_reduce(COSTS, 4) == pytest.approx(6 * (1e-4 + 145_000 / 1e9))


def test_the_slower_of_two_ranks_is_a_known_mean() -> None:
    """The larger of two standard normal numbers is 1 / sqrt(pi) in the mean."""
    many = replace(COSTS, steps=150_000, preempt=1.0, program_sigma=0.0, step_sigma=0.1)
    sigma = 0.002 * math.sqrt(150_000 * (math.exp(0.01) - 1))
    assert formulas.iteration(many, 2).play == pytest.approx(300 + sigma / math.sqrt(math.pi), abs=1e-3)


def test_a_straggler_without_preemption_delays_all() -> None:
    slow = replace(ALIKE, stragglers=0.1, preempt=1.0)
    chance = 1 - 0.9**4
    assert formulas.iteration(slow, 4).play == pytest.approx(0.72 * (1 + 9 * chance))


def test_a_straggler_that_is_preempted_plays_a_quarter() -> None:
    """Three of four ranks end after 0.72 s; the fourth needs 1.8 s for 90 of its 360 steps."""
    costs = replace(ALIKE, stragglers=1e-3)
    found = formulas.iteration(costs, 4)
    chance = 4e-3 * 0.999**3
    assert found.play == pytest.approx(0.72 + chance * (1.8 - 0.72), rel=1e-4)
    assert found.steps == pytest.approx(1440 - chance * 270, rel=1e-4)


def test_shards_are_limited_by_workers_or_by_the_driver() -> None:
    assert formulas.shards_a_second(COSTS, 2, 0.009) == pytest.approx(200)
    assert formulas.shards_a_second(COSTS, 1000, 0.009) == pytest.approx(2000)


@pytest.mark.parametrize("name", list(trainings(COSTS)))
@pytest.mark.parametrize("ranks", [1, 4, 100])
def test_formulas_and_simulations_agree(name: str, ranks: int) -> None:
    costs, rng = replace(trainings(COSTS)[name], slowdown=3.0), np.random.default_rng(ranks)
    model, drawn = formulas.iteration(costs, ranks), simulated.iteration(costs, ranks, 4000 // ranks, rng)
    assert model.rate == pytest.approx(drawn.rate, rel=0.05)
    assert model.play == pytest.approx(drawn.play, rel=0.05)
    assert model.steps == pytest.approx(drawn.steps, rel=0.02)


@pytest.mark.parametrize("workers", [1, 4, 100])
def test_shards_of_formulas_and_simulations_agree(workers: int) -> None:
    drawn = simulated.shards_a_second(COSTS, workers, 0.01, np.random.default_rng(0))
    assert formulas.shards_a_second(COSTS, workers, 0.01) == pytest.approx(drawn, rel=0.05)


def test_costs_are_changed_by_name() -> None:
    assert changed(COSTS, ["latency=1e-3", "of_all=true"]) == replace(COSTS, latency=1e-3, of_all=True)


def test_the_table_has_the_difference_and_the_speedup() -> None:
    rows = [
        {"case": "a", "workers": workers, "model": 110.0 * workers, "simulated": 100.0 * workers}
        for workers in (1, 10)
    ]
    assert difference(rows[0]) == pytest.approx(0.1)
    assert table(rows).splitlines()[-1] == "| a | 10 | 1,100 | 1,000 | +10.0% | 10 |"
