"""Steps per second of asynchronous collection on one core and on two; the steps differ a hundredfold.

    python benchmarks/actors.py [--rounds 5] [--check] [--output benchmarks/results/actors.json]

Programs: a corpus of random modules of 40 to 4,000 instructions. Episodes of 15 passes, drawn by an untrained
perceptron. Each way has four environments a core. The ways take turns, a round each, so that other load on
the machine affects all ways:

- `actors`: burnish.cluster.actors.ActorPool: an actor on each core, and a learner that takes their episodes
  and does nothing else;
- `play`: as PPO plays: one process has all environments, and acts in each one as soon as it is ready;
- `step`: one process has all environments, which wait for the slowest pass in each step.

Ratios are medians of the ratios to the same way on one core in each round. --check fails if two actors
collect fewer than 1.7 times the steps of one, or fewer than the vectors on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector.utils import iterate
from kit.cores import on_cores
from numpy.typing import NDArray

from burnish.cluster.actors import ActorPool
from burnish.cluster.local import LocalEngine
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.ppo import draw_actions
from burnish.learning.agents.rollout import play
from burnish.learning.training.config import Config, config_of, find_config
from burnish.learning.training.learning import PolicySetup
from burnish.llvm.corpora.building import build
from burnish.llvm.corpora.random_modules import random_job

FLOOR = 1.7
CORES = len(os.sched_getaffinity(0))
ENVIRONMENTS = 4  # a core
PROGRAMS = 20  # of each size
FIRST = 400  # steps a core that do not count
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
    with tempfile.TemporaryDirectory() as folder:
        rates = measure(training("async-ppo", Path(folder)), options.rounds, options.steps)
    alone = {name: rates[name.split()[0] + " 1"] for name in rates}
    ratios = {
        name: statistics.median(a / b for a, b in zip(found, alone[name], strict=True))
        for name, found in rates.items()
    }
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for name, ratio in ratios.items():
        print(f"{name:10} {medians[name]:7.0f} steps/s  {ratio:.2f} times one core")
    if options.output:
        options.output.write_text(json.dumps({"steps_per_second": rates, "ratios": ratios}, indent=1) + "\n")
    actors = f"actors {CORES}"
    if options.check and ratios[actors] < FLOOR:
        raise SystemExit(f"{actors}: {ratios[actors]:.2f} times one core, below {FLOOR}")
    if options.check and medians[actors] < max(medians[f"play {CORES}"], medians[f"step {CORES}"]):
        raise SystemExit(f"{actors}: fewer steps than one process collects")


def training(name: str, folder: Path) -> Config:
    """Return a shipped training on random programs, which are written to a folder."""
    table = tomllib.loads(find_config(name).read_text())
    table["environment"]["count"] = ENVIRONMENTS
    table["programs"] = []
    for size in SIZES:
        corpus = folder / str(size)
        build(corpus, [random_job(PROGRAMS, size=size)])
        table["programs"].append({"use": f"corpus@{corpus}:random"})
    table["validation"] = [{"use": "random:1000..1001:40"}]
    return config_of(table, name)


def measure(config: Config, rounds: int, steps: int) -> dict[str, list[float]]:
    """Return the steps per second of each way in each round."""
    setup = PolicySetup(config)
    setup.choose_programs()
    print(f"99th to 1st percentile of the steps' times: {spread(setup):.0f}")
    rates: dict[str, list[float]] = {}
    for number in range(rounds):
        for way in (actors, in_play, in_step):
            for cores in (1, CORES):
                name = f"{way.__name__.removeprefix('in_')} {cores}"
                rates.setdefault(name, []).append(way(setup, cores, steps))
                print(f"round {number}  {name:10} {rates[name][-1]:7.0f} steps/s", flush=True)
    return rates


def actors(setup: PolicySetup, cores: int, steps: int) -> float:
    """Return the steps per second that actors send, without the first ones."""
    order = setup.programs.order
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "actors"
        pool = ActorPool(LocalEngine(where, processes=cores), where, setup.config, order)
        try:
            pool.publish(0, 0, setup.policy().state_dict())
            pool.take(FIRST * cores, oldest=0)
            begin, seen = time.perf_counter(), 0
            while seen < steps:
                seen += sum(len(one.episode) for one in pool.take(1, oldest=0))
            return seen / (time.perf_counter() - begin)
        finally:
            pool.close()


def in_play(setup: PolicySetup, cores: int, steps: int) -> float:
    """Return the steps per second of one process that acts wherever an environment is ready."""
    policy, rng = setup.policy().eval(), np.random.default_rng(0)

    def act(numbers: Sequence[int], observations: list[Any], masks: NDArray[np.bool_]) -> Any:
        return draw_actions(policy, observations, masks, rng.random(len(numbers)))

    with environments(setup, cores) as envs:
        play(envs, act, steps=FIRST // ENVIRONMENTS, seed=0)
        begin = time.perf_counter()
        played = play(envs, act, steps=steps // envs.num_envs, seed=FIRST)
        return sum(map(len, played)) / (time.perf_counter() - begin)


def in_step(setup: PolicySetup, cores: int, steps: int) -> float:
    """Return the steps per second of environments that step together."""
    policy, rng = setup.policy().eval(), np.random.default_rng(0)
    with environments(setup, cores) as envs:
        observed, _ = envs.reset(seed=0)
        over = np.zeros(envs.num_envs, dtype=bool)
        begin, seen = 0.0, -FIRST * cores
        while seen < steps:
            masks = envs.action_masks()
            masks[over, 0] = True  # a step of these begins the next episode
            observations: list[Any] = list(iterate(envs.observation_space, observed))
            actions, _ = draw_actions(policy, observations, masks, rng.random(envs.num_envs))
            new = int((~over).sum())
            observed, _, terminated, truncated, _ = envs.step(actions)
            over = terminated | truncated
            if seen < 0 <= seen + new:
                begin = time.perf_counter()
            seen += new
        return seen / (time.perf_counter() - begin)


@contextmanager
def environments(setup: PolicySetup, cores: int) -> Iterator[VectorEnv]:
    """Yield a vector of ENVIRONMENTS a core; this process and its workers have so many cores meanwhile."""
    make = partial(setup.env, setup.programs)
    with on_cores(cores), closing(VectorEnv(make, ENVIRONMENTS * cores)) as envs:
        yield envs


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
