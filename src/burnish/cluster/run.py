"""The loop over shards: what is missing, in batches; what a lost process had not done, again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.cluster.engine import Batch, Engine
from burnish.cluster.shards import Outcome, failure_file, failure_of, is_done, make_folder, store
from burnish.core.errors import InputError
from burnish.workers.executor import Shard

BATCHES_PER_SLOT = 4  # so that a slot with quick shards does more batches
ATTEMPTS = 3  # lost processes with the same first shard, after which that shard has failed
LOOK_SECONDS = 1.0  # longest time between two reports


@dataclass(frozen=True)
class ShardProgress:
    """The state of a run."""

    total: int  # the shards so far; more may follow
    done: int
    failed: int
    resumed: int  # the part of `done` that earlier runs did
    lost: int  # processes that were lost so far


def run_shards(
    engine: Engine,
    folder: Path,
    shards: Iterable[Shard],
    *,
    progress: Callable[[ShardProgress], None] = lambda _: None,
) -> Generator[tuple[str, str]]:
    """Do all shards that are not done; yield the name and the failure of each as it ends.

    The failure is "" if the shard is done, also in an earlier run; otherwise its traceback, or the reason of
    its loss. The first shards begin while later ones are still taken from the iterable.

    A shard that raises an exception has failed, and is not tried again in this run. A process that dies, or
    whose node does, loses the shard in hand; that shard and the batch's later ones are given to others. A
    shard that was in hand at ATTEMPTS losses has failed. `shards.value_of` returns the values.

    Args:
        engine: Where the shards are done; it is closed at the end.
        folder: The run's folder, which all nodes of the engine can reach, except Ray's.
        shards: The shards, the longest first if that is known.
        progress: Called after each change, and every LOOK_SECONDS unless taking a shard lasts longer.

    Raises:
        InputError: two shards have one name, or the folder cannot be written.
    """
    make_folder(folder)
    state, waiting, more = _State(engine, folder), iter(shards), True
    try:
        while more or state.left:
            if more:
                taken, more = _taken(waiting)
                yield from state.begin(taken)
            if state.left:
                yield from state.wait(0.0 if more else LOOK_SECONDS)
            progress(state.now)
    finally:
        engine.close()


def _taken(shards: Iterator[Shard]) -> tuple[list[Shard], bool]:
    """Return the shards that come within LOOK_SECONDS, and whether more may follow."""
    end, taken = time.monotonic() + LOOK_SECONDS, []
    for shard in shards:
        taken.append(shard)
        if time.monotonic() >= end:
            return taken, True
    return taken, False


class _State:
    """The batches of a run, and what became of their shards."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder
        self.names: set[str] = set()
        self.left: dict[int, list[Shard]] = {}  # by batch: the shards that are not known to have ended
        self.losses: Counter[str] = Counter()  # by shard: the processes lost with it in hand
        self.begun = self.done = self.failed = self.resumed = 0

    @property
    def now(self) -> ShardProgress:
        """The numbers so far."""
        lost = self.losses.total()
        return ShardProgress(len(self.names), self.done, self.failed, self.resumed, lost)

    def begin(self, shards: Sequence[Shard]) -> Iterator[tuple[str, str]]:
        """Begin the missing shards; yield the others."""
        missing = []
        for shard in shards:
            if shard.name in self.names:
                raise InputError(
                    f"two shards have the name {shard.name}; expected one for each piece of work"
                )
            self.names.add(shard.name)
            if is_done(self.folder, shard.name):
                self.resumed += 1
                yield self._end(shard)
            else:
                missing.append(shard)
                failure_file(self.folder, shard.name).unlink(missing_ok=True)
        for batch in batches_of(missing, self.engine):
            self._begin(batch)

    def wait(self, seconds: float) -> Iterator[tuple[str, str]]:
        """Wait for the engine at most so long; yield the shards that have ended since the last call."""
        for ended in self.engine.ended(seconds):
            yield from self._look(ended.number)
            if left := self.left.pop(ended.number):
                yield from self._lose(left, ended.lost or "its process ended without a result")
        for number in self.left:
            yield from self._look(number)

    def _begin(self, batch: Batch) -> None:
        self.left[self.begun] = list(batch)
        self.engine.begin(self.begun, batch)
        self.begun += 1

    def _end(self, shard: Shard, failure: str = "") -> tuple[str, str]:
        self.done += not failure
        self.failed += bool(failure)
        return shard.name, failure

    def _look(self, number: int) -> Iterator[tuple[str, str]]:
        """Yield the shards of a batch that have ended; they end in order."""
        left = self.left[number]
        while left:
            done = is_done(self.folder, left[0].name)
            failure = "" if done else failure_of(self.folder, left[0].name)
            if not (done or failure):
                return
            yield self._end(left.pop(0), failure)

    def _lose(self, left: Sequence[Shard], reason: str) -> Iterator[tuple[str, str]]:
        """Begin again what a lost process had not done: the shard in hand by itself, then the others."""
        first, others = left[0], left[1:]
        self.losses[first.name] += 1
        if self.losses[first.name] < ATTEMPTS:
            self._begin([first])
        else:
            failure = f"its process was lost {ATTEMPTS} times; the last time: {reason}"
            store(self.folder, Outcome(first.name, failure=failure))
            yield self._end(first, failure)
        if others:
            self._begin(others)


def batches_of(shards: Sequence[Shard], engine: Engine) -> list[Batch]:
    """Deal the shards to batches in turn, so that each batch has long and short ones."""
    size = max(1, min(engine.most, -(-len(shards) // (BATCHES_PER_SLOT * engine.slots))))
    count = -(-len(shards) // size)
    return [shards[first::count] for first in range(count)]
