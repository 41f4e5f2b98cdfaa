"""Iterations of DD-PPO and shards by random draws, event by event."""

from __future__ import annotations

import heapq
import math
from collections import deque

import numpy as np

from many_machines.costs import Costs
from many_machines.formulas import Array, Iteration, all_reduce

BATCH = 16  # shards
AHEAD = 2  # batches of a worker, as Ray's engine has them
BATCHES = 40  # of each worker; the first tenth is not counted


def iteration(costs: Costs, ranks: int, iterations: int, rng: np.random.Generator) -> Iteration:
    """Return the mean of some iterations."""
    drawn = np.array([_iteration(costs, ranks, rng) for _ in range(iterations)])
    play, learn, steps = drawn.mean(axis=0).tolist()
    return Iteration(play, learn, steps)


def _iteration(costs: Costs, ranks: int, rng: np.random.Generator) -> tuple[float, float, float]:
    ends = _ends(costs, ranks, rng)
    least = math.ceil(costs.least * costs.steps / costs.length) * costs.length
    done = np.sort(ends[:, -1])[max(1, math.ceil(costs.preempt * ranks)) - 1]
    stops = np.minimum(ends[:, -1], np.maximum(done, ends[:, least - 1]))
    steps = int((ends <= stops[:, None]).sum())
    minibatch = costs.minibatch * (1 if costs.of_all else ranks)
    learn = sum(
        _gradients(costs, ranks, rows, costs.epochs * count, rng)
        for rows, count in ((minibatch, steps // minibatch), (steps % minibatch, 1))
        if rows
    )
    return float(stops.max()), learn, steps


def _gradients(costs: Costs, ranks: int, minibatch: int, count: int, rng: np.random.Generator) -> float:
    """Return the seconds of some gradient steps, each as long as that of the slowest rank."""
    rows = rng.multinomial(minibatch, np.full(ranks, 1 / ranks), count)
    sigma = costs.gradient_sigma
    taken = (costs.gradient + costs.row * rows) * rng.lognormal(-(sigma**2) / 2, sigma, rows.shape)
    return float(taken.max(axis=1).sum()) + count * all_reduce(costs, ranks)


def _ends(costs: Costs, ranks: int, rng: np.random.Generator) -> Array:
    """Return when each step of each rank ends: float64[ranks, steps]."""
    size = ranks, costs.steps // costs.length, costs.length
    programs = rng.lognormal(-(costs.program_sigma**2) / 2, costs.program_sigma, (*size[:2], 1))
    steps = rng.lognormal(-(costs.step_sigma**2) / 2, costs.step_sigma, size)
    slow = np.where(rng.random((ranks, 1)) < costs.stragglers, costs.slowdown, 1.0)
    return np.asarray(np.cumsum((costs.step * programs * steps).reshape(ranks, -1), axis=1) * slow)


def shards_a_second(costs: Costs, workers: int, seconds: float, rng: np.random.Generator) -> float:
    """Return the rate of workers that get batches from one driver, which serves one batch at a time."""
    waiting = [deque([0.0] * (AHEAD - 1)) for _ in range(workers)]  # batches that a worker has beside its own
    sigma = costs.step_sigma

    def length() -> float:
        return float((seconds * rng.lognormal(-(sigma**2) / 2, sigma, BATCH) + costs.worker).sum())

    events = [(length(), worker) for worker in range(workers)]  # the end of each worker's batch
    heapq.heapify(events)
    free, ended = 0.0, list[float]()
    while len(ended) < BATCHES * max(workers, 10):
        now, worker = heapq.heappop(events)
        free = max(free, now) + BATCH * costs.driver  # stores the results, and sends the worker another batch
        ended.append(free)
        waiting[worker].append(free)
        heapq.heappush(events, (max(now, waiting[worker].popleft()) + length(), worker))
    first = len(ended) // 10
    return BATCH * (len(ended) - 1 - first) / (ended[-1] - ended[first])
