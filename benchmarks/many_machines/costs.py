"""What a training and an engine cost on one machine, measured or given."""

from __future__ import annotations

import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from actors import training
from kit.rounds import of_call, take
from numpy.typing import NDArray
from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.multiprocessing.spawn import spawn

from burnish.learning.agents.dd_ppo import DDPPOConfig
from burnish.learning.agents.ranks import Ranks
from burnish.learning.training.config import Config
from burnish.learning.training.learning import PolicySetup

CONFIG = "dd-ppo"
EPISODES = 60
ROWS = (32, 256)  # of a minibatch; the cost of a row is the difference


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Times in seconds; sigmas are standard deviations of logarithms."""

    steps: int  # that a rank plays in an iteration
    length: int  # steps of an episode, which is on one program
    step: float  # mean, with the choice of the action
    step_sigma: float  # of the steps of one program
    program_sigma: float  # of programs
    preempt: float = 0.6  # see DDPPOConfig
    least: float = 0.25
    stragglers: float = 0.0  # probability that something slows a rank in an iteration
    slowdown: float = 10.0  # of a straggler
    epochs: int
    minibatch: int  # steps; of a rank, or of all
    of_all: bool = False  # whether `minibatch` is of all ranks
    gradient: float  # of a minibatch without rows: forward and backward pass, Adam
    row: float  # for each row of a minibatch
    gradient_sigma: float
    parameters: int  # bytes of the gradients
    latency: float  # of a message between two ranks
    bandwidth: float  # bytes a second
    driver: float  # of the driver for a shard
    worker: float  # of a worker for a shard, beside its work


def measure(shards: Path) -> tuple[Costs, dict[int, float]]:
    """Return the costs on this machine, and the seconds of an all-reduce by the number of ranks.

    Args:
        shards: rows.jsonl of benchmarks/shards.py, whose row of Ray counts.
    """
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        return measured(training(CONFIG, Path(folder)), shards)


def measured(config: Config, shards: Path) -> tuple[Costs, dict[int, float]]:
    """Return the same for a training."""
    algorithm = DDPPOConfig(**{key: value for key, value in config.algorithm.items() if key != "name"})
    setup = PolicySetup(config)
    setup.choose_programs()
    logs = np.log(times_of_steps(setup))
    within = float(logs.var(axis=1, ddof=1).mean())
    between = float(logs.mean(axis=1).var(ddof=1)) - within / logs.shape[1]
    small, large = (gradients(setup, rows) for rows in ROWS)
    row = max(0.0, statistics.median(large) - statistics.median(small)) / (ROWS[1] - ROWS[0])
    size = sum(one.numel() for one in setup.policy().parameters())
    reduced = {count: all_reduce(count, size) for count in (1, 2, 4)}
    latency = all_reduce(2, 1) / 2  # a ring of two: two messages, each of half the bytes
    ray = next(row for row in map(json.loads, shards.read_text().splitlines()) if row["engine"] == "ray")
    costs = Costs(
        steps=algorithm.steps * config.environment.count,
        length=logs.shape[1],
        step=float(np.exp(logs).mean()),
        step_sigma=math.sqrt(within),
        program_sigma=math.sqrt(max(0.0, between)),
        preempt=algorithm.preempt,
        least=algorithm.least,
        epochs=algorithm.epochs,
        minibatch=algorithm.minibatch,
        gradient=max(1e-6, statistics.median(small) - ROWS[0] * row),
        row=row,
        gradient_sigma=float(np.log(large).std()),
        parameters=4 * size,
        latency=latency,
        bandwidth=4 * size / max(1e-6, reduced[2] - 2 * latency),
        driver=ray["driver_ms"] / 1e3,
        worker=ray["overhead_ms"] / 1e3,
    )
    return costs, reduced


def times_of_steps(setup: PolicySetup) -> NDArray[np.float64]:
    """Return the seconds of the steps of whole episodes, an episode a row.

    They include the choices of the actions, and each step its share of the episode's reset.
    """
    env, policy, rng, rows = setup.env(setup.programs), setup.policy().eval(), torch.Generator(), []
    for number in range(EPISODES):
        before = time.perf_counter()
        observed, info = env.reset(seed=number)
        reset, times, over = time.perf_counter() - before, list[float](), False
        while not over:
            begin = time.perf_counter()
            action = int(policy.act([observed], info["mask"][None], rng)[0])
            observed, _, terminated, truncated, info = env.step(action)
            times.append(time.perf_counter() - begin)
            over = terminated or truncated
        rows.append([one * (1 + reset / sum(times)) for one in times])
    env.close()
    longest = max(map(len, rows))
    return np.array([times for times in rows if len(times) == longest])


def gradients(setup: PolicySetup, rows: int) -> list[float]:
    """Return samples of the CPU seconds of a gradient step on so many rows."""
    env, policy = setup.env(setup.programs), setup.policy()
    observed, info = env.reset(seed=0)
    env.close()
    batch, mask = policy.collate([observed] * rows), torch.from_numpy(np.stack([info["mask"]] * rows))
    optimizer = torch.optim.Adam(policy.parameters())

    def step() -> None:
        optimizer.zero_grad()
        log_probs, values = policy.evaluate(batch, mask)
        (values.mean() - log_probs[mask].mean()).backward()
        optimizer.step()

    return take({"step": of_call(step)}, 15)["step"]


def all_reduce(count: int, size: int) -> float:
    """Return the median seconds in which so many ranks of this machine sum a vector of float32 by gloo."""
    if count == 1:
        return 0.0
    found = torch.zeros(1, dtype=torch.float64).share_memory_()
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    spawn(reduce_often, (count, size, store.port, found), count)
    return float(found)


def reduce_often(rank: int, count: int, size: int, port: int, found: torch.Tensor) -> None:
    """Sum a vector some times with the other ranks; rank 0 stores the median."""
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(count)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"  # all ranks are clients of the store
    ranks, times = Ranks(timeout_seconds=60), list[float]()
    vector = torch.nn.Parameter(torch.zeros(size))
    for _ in range(200):
        vector.grad = torch.ones(size)
        begin = time.perf_counter()
        ranks.sum_gradients([vector], {"loss": torch.zeros(())})
        times.append(time.perf_counter() - begin)
    if rank == 0:
        found[0] = statistics.median(times)
    ranks.close()


def changed(costs: Costs, changes: Sequence[str]) -> Costs:
    """Return costs with some changed, each of the form NAME=VALUE."""
    table: dict[str, Any] = vars(costs) | {
        name: json.loads(value) for name, _, value in (one.partition("=") for one in changes)
    }
    return Costs(**table)
