"""The ranks of a training, one shard each; when one is lost, all begin again from the last checkpoint.

The driver keeps the store by which ranks meet, so no port must be chosen on a rank's node. The ranks, the
driver and the run's folder must see each other: all nodes share the folder.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count as count_from
from pathlib import Path
from typing import Any

from torch.distributed import TCPStore, destroy_process_group, is_initialized  # type: ignore[attr-defined]

from burnish.cluster.engine import Engine
from burnish.cluster.shards import failure_of, is_done, make_folder, value_of
from burnish.core.errors import BurnishError, InputError
from burnish.learning.training.checkpoint import FILE, Best
from burnish.learning.training.config import Config, config_of
from burnish.learning.training.configured import task_of
from burnish.learning.training.loop import STOP, IterationProgress, Listener, TrainingOutcome
from burnish.learning.training.ranked import train_rank
from burnish.learning.training.track import LOG, read_log
from burnish.learning.training.validation import SCORE
from burnish.workers.executor import Shard

RANKS = "ranks"
LOOK_SECONDS = 0.5
END_SECONDS = 60.0  # longest time that a lost rank 0 may take to end
RESTARTS = 3  # generations without a new checkpoint, after which the training has failed


@dataclass(frozen=True)
class RankPlan:
    """The training of a generation of ranks."""

    config: Mapping[str, Any]  # Config.to_dict()
    name: str
    folder: Path
    command: str
    environment: Mapping[str, str]  # by which they meet


def train_on(
    open_engine: Callable[[Path], Engine],
    config: Config,
    folder: Path,
    listener: Listener,
    *,
    address: str = "",
) -> TrainingOutcome:
    """Train, or continue from the checkpoint: a rank in each slot of an engine; see learning.training.loop.

    Args:
        open_engine: Opens an engine for the shards of a folder.
        config: The configuration, of an algorithm that trains on ranks.
        folder: The run's folder, which all nodes share.
        listener: Its `stop` ends the run after the iteration.
        address: The name or address of this machine for the ranks; by default its host name.

    Raises:
        InputError: as `train`.
        BurnishError: the ranks were lost RESTARTS times without a new checkpoint.
    """
    folder.mkdir(parents=True, exist_ok=True)
    follower = _Follower(config, folder, listener)
    failures = 0
    for generation in count_from():
        before = _time_of(folder / FILE)
        here = folder / RANKS / f"{os.getpid()}-{generation}"
        store = TCPStore(address or socket.gethostname(), 0, is_master=True, wait_for_workers=False)
        meeting = {
            "MASTER_ADDR": store.host,
            "MASTER_PORT": str(store.port),
            "TORCHELASTIC_USE_AGENT_STORE": "True",  # the ranks are clients of this store
        }
        plan = RankPlan(config.to_dict(), config.name, folder, listener.command, meeting)
        why = _generation(open_engine(here), here, plan, follower)
        if not why:
            found = value_of(here, "rank-0")
            shutil.rmtree(folder / RANKS)
            return follower.outcome(found)
        failures = 1 if _time_of(folder / FILE) != before else failures + 1
        if failures > RESTARTS:
            raise BurnishError(f"the ranks were lost {failures} times without a new checkpoint: {why}")
        listener.say(f"{why}; all ranks begin again from the last checkpoint")
    raise AssertionError


def _generation(engine: Engine, here: Path, plan: RankPlan, follower: _Follower) -> str:
    """Run all ranks until they end, or one is lost: return the reason of the loss, or ""."""
    try:
        make_folder(here)
        left = set(range(engine.slots))
        for rank in left:
            shard = Shard(f"rank-{rank}", one_rank, (plan, rank, engine.slots), pinned=False)
            engine.begin(rank, [shard])
        while left:
            for ended in engine.ended(LOOK_SECONDS):
                name = f"rank-{ended.number}"
                if not is_done(here, name):
                    traceback = failure_of(here, name).strip()
                    return f"rank {ended.number}: {traceback.splitlines()[-1] if traceback else ended.lost}"
                if error := value_of(here, name).get("error"):
                    raise InputError(error)
                left.remove(ended.number)
            follower.look()
        return ""
    finally:
        engine.close()


def one_rank(plan: RankPlan, rank: int, count: int) -> dict[str, Any]:
    """Train as one rank; return the outcome in rank 0, or the error that another start would repeat."""
    os.environ.update({**plan.environment, "RANK": str(rank), "WORLD_SIZE": str(count)})
    if is_initialized():  # by a rank of an earlier generation, in this process of Ray's
        destroy_process_group()
    try:
        config, listener = config_of(plan.config, plan.name), Listener(command=plan.command)
        outcome = train_rank(config, plan.folder, listener, wait_seconds=END_SECONDS)
    except InputError as error:
        return {"error": str(error)}
    if outcome is None:
        return {}
    best = outcome.best
    return {
        "why": outcome.why,
        "iteration": outcome.iteration,
        "best": best and [best.iteration, best.metrics],
        "policy": outcome.policy and str(outcome.policy),
    }


class _Follower:
    """Shows the rows that rank 0 writes, and passes on the wish to stop."""

    def __init__(self, config: Config, folder: Path, listener: Listener) -> None:
        self.config, self.folder, self.listener = config, folder, listener
        self._seen, self._time = -1, 0.0  # the last iteration that was shown, and the log's time then
        self._reference = task_of(config).reference
        self._best: Best | None = None

    def look(self) -> None:
        log = self.folder / LOG
        if (now := _time_of(log)) != self._time:
            self._time = now
            for row in read_log(log):
                self._show({name: value for name, value in row.items() if value is not None})
        if self.listener.stop():
            (self.folder / STOP).touch()

    def _show(self, row: Mapping[str, float | int]) -> None:
        if row["iteration"] <= self._seen:
            return
        self._seen = int(row["iteration"])
        if SCORE in row and (self._best is None or row[SCORE] > self._best.metrics[SCORE]):
            self._best = Best(self._seen, {SCORE: float(row[SCORE])}, {})
        self.listener.progress(IterationProgress(row, self._best, self._reference, None))

    def outcome(self, found: Mapping[str, Any]) -> TrainingOutcome:
        self.look()
        best = found["best"] and Best(found["best"][0], found["best"][1], {})
        policy = found["policy"] and Path(found["policy"])
        return TrainingOutcome(self.folder, found["why"], found["iteration"], best, policy)


def _time_of(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0
