"""Small trainings in many processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from burnish.cluster.engine import Engine
from burnish.cluster.engines import open_engine
from burnish.cluster.local import LocalEngine
from burnish.learning.training.config import Config, read_config
from burnish.learning.training.track import LOG, TIMES

SMALL = (  # changes of the configuration "smoke"
    "run.iterations=6",
    "run.validate_every=3",
    "run.checkpoint_every=1",
    "track.tensorboard=false",
    "track.curves=false",
    "environment.max_steps=4",
    "algorithm.steps=8",
)
OF_RANKS = ("algorithm.name=dd-ppo", "algorithm.preempt=1.0", "algorithm.timeout_seconds=60")


def small(*changes: str) -> Config:
    """Return a training of some seconds, which saves every iteration."""
    return read_config("smoke", [*SMALL, *changes])


class Opened:
    """Opens local engines, and keeps the last one."""

    engine: LocalEngine

    def __call__(self, folder: Path) -> Engine:
        self.engine = LocalEngine(folder, processes=2)
        return self.engine

    def pids(self) -> list[int]:
        """Return the processes of the last engine."""
        return [worker.pid for worker in self.engine._workers if worker.pid]


def opens(name: str) -> Callable[[Path], Engine]:
    """Return a function that opens two slots of an engine."""
    return partial(_open, name)


def _open(name: str, folder: Path) -> Engine:
    return open_engine(name, folder, {"slots": 2})


def curve(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a run's log without times."""
    rows = map(json.loads, (folder / LOG).read_text().splitlines())
    return [{name: value for name, value in row.items() if name not in TIMES} for row in rows]
