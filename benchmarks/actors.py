"""Steps per second of asynchronous collection on one core and on two; the steps differ a hundredfold.

    python benchmarks/actors.py [--rounds 5] [--check] [--output benchmarks/results/actors.json]

Programs: random modules of 40 to 4,000 instructions. Episodes of 15 passes, drawn by an untrained
perceptron. The ways take turns, a round each, so that other load on the machine affects all ways:

- `actor`, `actors N`: burnish.cluster.actors.ActorPool: N actors of two environments, each on a core, and a
  learner that takes their episodes and does nothing else;
- `step N, one core`, `step N`: N environments of one burnish.envs.vector.VectorEnv on one core and on all;
  they all wait for the slowest pass.

Ratios are medians of the ratios to the way on one core in each round. --check fails if two actors collect
fewer than 1.7 times the steps of one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector.utils import iterate

from burnish.cluster.actors import ActorPool
from burnish.cluster.local import LocalEngine
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.ppo import draw_actions
from burnish.learning.training.config import Config, config_of, find_config
from burnish.learning.training.learning import PolicySetup

FLOOR = 1.7
SIZES = (40, 400, 4000)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3000, help="fewest of a way in each round")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    config = training()
    setup = PolicySetup(config)
    setup.choose_programs()
    print(f"99th to 1st percentile of the steps' times: {spread(setup):.0f}")
    cores = len(os.sched_getaffinity(0))
    ways: dict[str, Callable[[int], float]] = {
        "actor": partial(collect, setup, 1),
        f"actors {cores}": partial(collect, setup, cores),
        "step 4, one core": partial(step, setup, 4, 1),
        "step 4": partial(step, setup, 4, cores),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(options.rounds):
        for name, way in ways.items():
            rates[name].append(way(options.steps))
            print(f"round {number}  {name:18} {rates[name][-1]:7.0f} steps/s", flush=True)
    alone = {"actor": "actor", f"actors {cores}": "actor", "step 4, one core": "step 4, one core"}
    ratios = {
        name: statistics.median(
            a / b for a, b in zip(rates[name], rates[alone.get(name, "step 4, one core")], strict=True)
        )
        for name in ways
    }
    for name in ways:
        print(f"{name:18} {statistics.median(rates[name]):7.0f} steps/s  {ratios[name]:.2f} times one core")
    if options.output:
        options.output.write_text(json.dumps({"steps_per_second": rates, "ratios": ratios}, indent=1) + "\n")
    if options.check and ratios[f"actors {cores}"] < FLOOR:
        raise SystemExit(f"actors {cores}: {ratios[f'actors {cores}']:.2f} times one core, below {FLOOR}")


def training(name: str = "async-ppo") -> Config:
    """Return a shipped training, on random programs."""
    table = tomllib.loads(find_config(name).read_text())
    table["programs"] = [{"use": f"random:0..19:{size}"} for size in SIZES]
    table["validation"] = [{"use": "random:1000..1001:40"}]
    return config_of(table, name)


def collect(setup: PolicySetup, actors: int, steps: int) -> float:
    """Return the steps per second that actors send, without the first ones."""
    order = setup.programs.order
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "actors"
        pool = ActorPool(LocalEngine(where, processes=actors), where, setup.config, order)
        try:
            pool.publish(0, 0, setup.policy().state_dict())
            pool.take(200 * actors, oldest=0)
            begin, seen = time.perf_counter(), 0
            while seen < steps:
                seen += sum(len(one.episode) for one in pool.take(1, oldest=0))
            return seen / (time.perf_counter() - begin)
        finally:
            pool.close()


def step(setup: PolicySetup, count: int, cores: int, steps: int) -> float:
    """Return the steps per second of environments that step together."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:cores])
    envs = VectorEnv(partial(setup.env, setup.programs), count)
    policy, rng = setup.policy().eval(), np.random.default_rng(0)
    try:
        observed, _ = envs.reset(seed=0)
        masks = envs.action_masks()
        begin, seen = time.perf_counter(), 0
        while seen < steps:
            going = masks.any(axis=1)
            masks[~going, 0] = True
            observations: list[Any] = list(iterate(envs.observation_space, observed))
            actions, _ = draw_actions(policy, observations, masks, rng.random(count))
            observed, _, _, _, _ = envs.step(actions)
            masks = envs.action_masks()
            seen += count
        return seen / (time.perf_counter() - begin)
    finally:
        envs.close()
        os.sched_setaffinity(0, before)


def spread(setup: PolicySetup, episodes: int = 60) -> float:
    """Return the ratio of the 99th to the 1st percentile of the times of random steps."""
    env, rng, times = setup.env(setup.programs), np.random.default_rng(0), []
    for number in range(episodes):
        _, info = env.reset(seed=number)
        over = False
        while not over:
            begin = time.perf_counter()
            action = int(rng.choice(np.flatnonzero(info["mask"])))
            _, _, terminated, truncated, info = env.step(action)
            times.append(time.perf_counter() - begin)
            over = terminated or truncated
    env.close()
    low, high = np.percentile(times, [1, 99])
    return float(high / low)


if __name__ == "__main__":
    main()
