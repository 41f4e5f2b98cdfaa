"""Ranks of a distributed training: each one is python -m tests.learning.agents.ranks FOLDER WORK..."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from burnish.core.errors import BurnishError
from burnish.learning.agents.dd_ppo import DDPPO, DDPPOConfig
from burnish.learning.agents.learner import generator
from burnish.learning.agents.ppo import PPO
from burnish.learning.agents.ranks import Ranks
from burnish.learning.agents.rollout import Episode, play
from tests.learning.agents.problems import counting_envs, counting_policy
from tests.waiting import MOST_SECONDS

CONFIG: dict[str, Any] = {"steps": 14, "minibatch": 10, "epochs": 2, "preempt": 1.0, "timeout_seconds": 60.0}
ENVIRONMENTS = 4  # of all ranks


def start(works: Sequence[str], folder: Path, count: int, **settings: str) -> list[subprocess.Popen[str]]:
    """Start ranks that do some works one after another; each one writes FOLDER/WORK.RANK.pt."""
    with ExitStack() as bound:
        sockets = [bound.enter_context(socket.socket()) for _ in works]
        for free in sockets:
            free.bind(("127.0.0.1", 0))
        ports = [str(free.getsockname()[1]) for free in sockets]
    fixed = {"MASTER_ADDR": "127.0.0.1", "PORTS": " ".join(ports), "WORLD_SIZE": str(count)}
    return [
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder), *works],
            env={**os.environ, **fixed, **settings, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]


def results(works: Sequence[str], folder: Path, count: int) -> dict[str, list[Any]]:
    """Run ranks to their ends; return what they wrote, by work."""
    for rank in start(works, folder, count):
        _, errors = rank.communicate(timeout=MOST_SECONDS)
        assert rank.returncode == 0, errors
    return {work: [torch.load(folder / f"{work}.{rank}.pt") for rank in range(count)] for work in works}


def learner(environments: int, ranks: Ranks | None = None, **settings: Any) -> DDPPO:
    config = DDPPOConfig(**(CONFIG | settings))
    return DDPPO(counting_envs(environments), counting_policy, config, seed=7, ranks=ranks)


def learn(agent: DDPPO, iterations: int = 3) -> dict[str, Any]:
    """Return the parameters and the metrics after some iterations."""
    metrics = [agent.iterate() for _ in range(iterations)]
    return {"policy": agent.policy.state_dict(), "metrics": metrics}


def equal_shares() -> dict[str, Any]:
    ranks = Ranks(timeout_seconds=60)
    return learn(learner(ENVIRONMENTS // ranks.count, ranks))


def episodes() -> list[Episode]:
    """Return eight episodes of four environments, which a learner of one rank plays."""
    alone = PPO(counting_envs(ENVIRONMENTS), counting_policy, seed=7)
    return play(alone.envs, alone._actor(), steps=14, seed=3)


def update_on(agent: DDPPO, played: Sequence[Episode]) -> dict[str, Any]:
    """Return the parameters and the metrics after an update on these episodes."""
    metrics = agent.update(agent.batch(played), generator(7, 1, 0))
    return {"policy": agent.policy.state_dict(), "metrics": [metrics]}


def unequal_shares() -> dict[str, Any]:
    """Rank 0 has the first episode of eight, rank 1 all others."""
    agent = learner(ENVIRONMENTS, Ranks(timeout_seconds=60))
    played = episodes()
    return update_on(agent, played[:1] if agent.ranks.number == 0 else played[1:])


class Slow(DDPPO):
    """A learner whose rank 1 takes a second for a step."""

    def _actor(self) -> Any:
        act = super()._actor()

        def slowly(*arguments: Any) -> Any:
            if self.ranks.number == 1:
                time.sleep(1.0)
            return act(*arguments)

        return slowly


def straggler() -> dict[str, Any]:
    """Rank 1 of three would take a minute for its sixty steps; a quarter of these are fifteen."""
    ranks = Ranks(timeout_seconds=60)
    config = DDPPOConfig(**(CONFIG | {"steps": 56, "preempt": 0.6, "least": 0.05}))
    agent = Slow(counting_envs(1), counting_policy, config, seed=7, ranks=ranks)
    found = learn(agent, 2)
    return found | {"steps": agent.steps, "digest": [float(p.sum()) for p in agent.policy.parameters()]}


def drifted() -> dict[str, Any]:
    """Rank 1 gets other parameters than rank 0; both must notice."""
    agent = learner(2, Ranks(timeout_seconds=60))
    if agent.ranks.number == 1:
        with torch.no_grad():
            next(agent.policy.parameters()).add_(1e-7)
    try:
        agent.iterate()
    except BurnishError as error:
        return {"error": str(error)}
    return {}


def killed() -> dict[str, Any]:
    """Rank 1 dies in its second iteration, where $WHERE says."""
    agent = learner(2, Ranks(timeout_seconds=60))

    def die(*_: Any, **__: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    agent.iterate()
    if agent.ranks.number == 1:
        if os.environ["WHERE"] == "rollout":
            agent._play = die  # type: ignore[method-assign]
        else:
            agent.ranks.sum_gradients = die  # type: ignore[method-assign]
    try:
        agent.iterate()
    except BurnishError as error:
        return {"error": str(error)}
    return {}


WORKS: Mapping[str, Callable[[], dict[str, Any]]] = {
    work.__name__: work for work in (equal_shares, unequal_shares, straggler, drifted, killed)
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    np.seterr(all="raise", under="ignore")
    folder, *works = sys.argv[1:]
    for work, port in zip(works, os.environ["PORTS"].split(), strict=True):
        os.environ["MASTER_PORT"] = port
        torch.save(WORKS[work](), Path(folder) / f"{work}.{os.environ['RANK']}.pt")
        dist.destroy_process_group()
