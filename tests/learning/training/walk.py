"""A training without a network: a random walk, whose state is all in its checkpoint."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from burnish.learning.training.config import Config, config_of
from burnish.learning.training.loop import train
from burnish.learning.training.validation import SCORE


class Walk:
    """One step up or down in each iteration; validation says where it is."""

    reference = "start"
    ends = False
    hangs_in = 0

    def __init__(self, config: Config, folder: Path, note: Callable[[str], None]) -> None:
        self.fails_at = config.algorithm.get("fails_at", 0)
        self.finishes_at = config.algorithm.get("finishes_at", 0)
        self.rng = np.random.default_rng(config.run.seed)
        self.at = torch.zeros(1, dtype=torch.float64)
        self.iterations = 0
        self.closed = False
        note("opened")

    def iterate(self) -> dict[str, float]:
        self.iterations += 1
        if self.iterations == self.hangs_in:
            time.sleep(1000)
        self.at += float(self.rng.normal())
        loss = float("nan") if self.iterations == self.fails_at else 1.0
        finished = float(self.iterations == self.finishes_at)
        return {
            "steps": 10.0 * self.iterations,
            "return": self.at.item(),
            "loss/all": loss,
            "finished": finished,
        }

    def validate(self) -> dict[str, float]:
        return {SCORE: float(np.exp(self.at.item()))}

    def state_dict(self) -> dict[str, Any]:
        generator = self.rng.bit_generator.state
        return {"at": self.at, "rng": generator, "iterations": self.iterations}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = state["at"]
        self.rng.bit_generator.state = state["rng"]
        self.iterations = state["iterations"]

    def policy_state(self) -> dict[str, Any]:
        return {"at": self.at.clone()}

    def export(self, policy: dict[str, Any], folder: Path) -> tuple[Path, dict[str, Any]]:
        path = folder / "policy.txt"
        path.write_text(str(policy["at"].item()))
        return path, {"task": "walking-v0"}

    def close(self) -> None:
        self.closed = True


def walk_config(**run: Any) -> Config:
    """Return a configuration of a walk: keys of [run], and of [algorithm] with a leading underscore."""
    algorithm = {name[1:]: run.pop(name) for name in list(run) if name.startswith("_")}
    track = {"tensorboard": run.pop("tensorboard", False)}
    table = {
        "algorithm": {"name": "walk", **algorithm},
        "programs": {"use": "random:0"},
        "run": run,
        "track": track,
    }
    return config_of(table, "walk.toml")


def long_walk() -> Config:
    """Return a configuration of 20 iterations with a checkpoint after each third."""
    return walk_config(iterations=20, seed=3, checkpoint_every=3, validate_every=2, tensorboard=True)


if __name__ == "__main__":  # python -m tests.learning.training.walk FOLDER HANGS_IN
    Walk.hangs_in = int(sys.argv[2])
    train(long_walk(), Path(sys.argv[1]), Walk)
