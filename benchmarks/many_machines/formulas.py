"""Iterations of DD-PPO and shards, by formulas.

A rank's play lasts S, the sum of its steps; it is approximated by a shifted log-normal of the same mean,
variance and third moment. z(k, n) is the k-th of n standard normal numbers in order, so S(k, n) = Q(z(k, n)),
where Q are the quantiles of S. With W ranks, play ends at

    E max(S(k, W), A(W, W))    k = ceil(preempt W), A = the first steps that every rank plays

and a gradient step lasts as long as that of the slowest rank, with an all-reduce by a ring:

    g(W, W) + 2 (W - 1) (latency + bytes / (W bandwidth))

Of stragglers, each number J has its probability, binomial in W; they come after all other ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from many_machines.costs import Costs

Array = NDArray[np.float64]
Z = np.linspace(-8.0, 8.0, 1601)  # standard normal numbers, over which means are sums
BELOW = np.array([NormalDist().cdf(z) for z in Z])


@dataclass(frozen=True)
class Iteration:
    """An iteration of DD-PPO, in the mean."""

    play: float  # seconds
    learn: float  # seconds
    steps: float  # of all ranks

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / (self.play + self.learn)


def iteration(costs: Costs, ranks: int) -> Iteration:
    """Return an iteration of some ranks."""
    play = steps = 0.0
    for slow in range(ranks + 1):
        if (chance := _binomial(slow, ranks, costs.stragglers)) > 1e-6:
            end, played = _played(costs, ranks - slow, slow)
            play, steps = play + chance * end, steps + chance * played
    return Iteration(play, _learned(costs, ranks, steps), steps)


def shards_a_second(costs: Costs, workers: int, seconds: float) -> float:
    """Return the rate of workers that get shards of some seconds from one driver."""
    return min(workers / (seconds + costs.worker), 1 / costs.driver)


def all_reduce(costs: Costs, ranks: int) -> float:
    """Return the seconds of an all-reduce by a ring."""
    return 2 * (ranks - 1) * (costs.latency + costs.parameters / ranks / costs.bandwidth)


def _played(costs: Costs, quick: int, slow: int) -> tuple[float, float]:
    """Return the seconds of play and the steps of all ranks, if so many are quick and slow."""
    count, episodes = quick + slow, costs.steps // costs.length
    whole = _quantiles(costs, episodes)
    least = _quantiles(costs, math.ceil(costs.least * episodes))
    last = max(1, math.ceil(costs.preempt * count))
    in_order = [np.interp(_middle(quick), Z, whole), costs.slowdown * np.interp(_middle(slow), Z, whole)]
    among = (last, quick, 1.0) if last <= quick else (last - quick, slow, costs.slowdown)
    stop = among[2] * float(_weights(among[0], among[1]) @ whole)
    if costs.preempt == 1:
        return stop, count * costs.steps
    ends = [stop]
    for many, factor in ((quick, 1.0), (slow, costs.slowdown)):
        if many:
            ends.append(factor * float(_weights(many, many) @ least))
    shares = np.minimum(1.0, np.maximum(costs.least, stop / np.concatenate(in_order)))
    shares[:last] = 1.0
    return max(ends), costs.steps * float(shares.sum())


def _learned(costs: Costs, ranks: int, steps: float) -> float:
    minibatch = costs.minibatch * (1 if costs.of_all else ranks)
    minibatches = math.ceil(steps / minibatch)
    rows = steps / minibatches / ranks
    mean = costs.gradient + costs.row * rows
    spread = costs.row**2 * rows * (1 - 1 / ranks) / mean**2  # of rows, which are drawn from all ranks
    sigma = math.sqrt(math.log(math.exp(costs.gradient_sigma**2) + spread))
    slowest = mean * float(_weights(ranks, ranks) @ np.exp(sigma * Z - sigma**2 / 2))
    return costs.epochs * minibatches * (slowest + all_reduce(costs, ranks))


def _quantiles(costs: Costs, episodes: int) -> Array:
    """Return the seconds of some episodes at the quantiles Z: float64[1601]."""
    length, of_steps, of_programs = costs.length, costs.step_sigma**2, costs.program_sigma**2
    w = math.exp(of_steps)
    second = length * (w - 1) + length**2  # moments of the sum of an episode's steps, on a mean program
    third = length * (w**3 - 3 * w + 2) + 3 * length**2 * (w - 1) + length**3
    second, third = second * math.exp(of_programs), third * math.exp(3 * of_programs)
    variance = episodes * (second - length**2)
    if variance < 1e-9:
        return np.full_like(Z, costs.step * episodes * length)
    skewness = episodes * (third - 3 * second * length + 2 * length**3) / variance**1.5
    half = 1 + skewness**2 / 2
    root = (half + math.sqrt(half**2 - 1)) ** (1 / 3)
    w = root + 1 / root - 1  # exp(sigma**2) of the log-normal of this skewness
    sigma = math.sqrt(math.log(w))
    shape = (np.exp(sigma * Z - sigma**2 / 2) - 1) / math.sqrt(w - 1)
    return np.asarray(costs.step * (episodes * length + math.sqrt(variance) * shape))


@cache
def _weights(place: int, count: int) -> Array:
    """Return the probabilities of z(place, count) at Z: float64[1601]."""
    inside = np.clip(BELOW, 1e-300, 1 - 1e-16)
    logs = (place - 1) * np.log(inside) + (count - place) * np.log1p(-inside) - Z**2 / 2
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


@cache
def _middle(count: int) -> Array:
    """Return the mean of each z(k, count), by Blom's formula."""
    return np.array([NormalDist().inv_cdf((k + 0.625) / (count + 0.25)) for k in range(count)])


def _binomial(found: int, of: int, chance: float) -> float:
    """Return the probability of so many stragglers."""
    if chance == 0:
        return float(found == 0)
    ways = math.lgamma(of + 1) - math.lgamma(found + 1) - math.lgamma(of - found + 1)
    return math.exp(ways + found * math.log(chance) + (of - found) * math.log1p(-chance))
