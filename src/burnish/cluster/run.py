"""The loop over shards: what is missing, in batches; what a lost process had not done, again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from burnish.cluster.engine import Batch, Engine
from burnish.cluster.shards import FAILURES, Outcome, failure_of, is_done, make_folder, store
from burnish.core.errors import InputError
from burnish.workers.executor import Shard

BATCHES_PER_SLOT = 4  # so that a slot with quick shards takes more of them
ATTEMPTS = 3  # lost processes with the same first shard, after which that shard has failed
LOOK_SECONDS = 1.0  # longest time between two reports


@dataclass(frozen=True)
class ShardProgress:
    """The state of a run."""

    total: int
    done: int
    failed: int
    resumed: int  # the part of `done` that earlier runs did
    lost: int  # processes that were lost so far


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run: which shards failed, each with its traceback or the reason of its loss."""

    progress: ShardProgress
    failures: Mapping[str, str] = field(default_factory=dict)


def run_shards(
    engine: Engine,
    folder: Path,
    shards: Sequence[Shard],
    *,
    progress: Callable[[ShardProgress], None] = lambda _: None,
) -> Generator[str, None, RunOutcome]:
    """Do all shards that are not done; yield the name of each one that is done, also of earlier runs.

    A shard that raises an exception has failed, and is not tried again in this run. A process that dies, or
    whose node does, loses the shard in hand; that shard and the batch's later ones are given to others. A
    shard that was in hand at ATTEMPTS losses has failed. `shards.value_of` returns the values.

    Args:
        engine: Where the shards are done; it is closed at the end.
        folder: The run's folder, which all nodes of the engine can reach, except Ray's.
        shards: The shards, the longest first if that is known.
        progress: Called after each change, and every LOOK_SECONDS.

    Raises:
        InputError: two shards have one name, or the folder cannot be written.
    """
    twice = [name for name, count in Counter(shard.name for shard in shards).items() if count > 1]
    if twice:
        raise InputError(f"two shards have the name {twice[0]}; expected one for each piece of work")
    make_folder(folder)
    state = _State(engine, folder, len(shards))
    try:
        yield from state.begin(shards)
        progress(state.now)
        while state.left:
            yield from state.wait()
            progress(state.now)
    finally:
        engine.close()
    return RunOutcome(state.now, state.failures)


class _State:
    """The batches of a run, and what became of their shards."""

    def __init__(self, engine: Engine, folder: Path, total: int) -> None:
        self.engine, self.folder, self.total = engine, folder, total
        self.left: dict[int, list[Shard]] = {}  # by batch: the shards that are not known to have ended
        self.failures: dict[str, str] = {}
        self.losses: Counter[str] = Counter()  # by shard: the processes lost with it in hand
        self.begun = self.done = self.resumed = 0

    @property
    def now(self) -> ShardProgress:
        """The numbers so far."""
        failed, lost = len(self.failures), self.losses.total()
        return ShardProgress(self.total, self.done, failed, self.resumed, lost)

    def begin(self, shards: Sequence[Shard]) -> Iterator[str]:
        """Begin the missing shards; yield the others."""
        missing = []
        for shard in shards:
            if is_done(self.folder, shard.name):
                self.done += 1
                yield shard.name
            else:
                missing.append(shard)
                (self.folder / FAILURES / f"{shard.name}.txt").unlink(missing_ok=True)
        self.resumed = self.done
        for batch in batches_of(missing, self.engine):
            self._begin(batch)

    def wait(self) -> Iterator[str]:
        """Wait for the engine at most LOOK_SECONDS; yield the shards that are done since the last call."""
        for ended in self.engine.ended(LOOK_SECONDS):
            yield from self._look(ended.number)
            if left := self.left.pop(ended.number):
                self._lose(left, ended.lost or "its process ended without a result")
        for number in self.left:
            yield from self._look(number)

    def _begin(self, batch: Batch) -> None:
        self.left[self.begun] = list(batch)
        self.engine.begin(self.begun, batch)
        self.begun += 1

    def _look(self, number: int) -> Iterator[str]:
        """Yield the shards of a batch that are done; they end in order."""
        left = self.left[number]
        while left:
            if is_done(self.folder, left[0].name):
                self.done += 1
                yield left.pop(0).name
            elif failure := failure_of(self.folder, left[0].name):
                self.failures[left.pop(0).name] = failure
            else:
                return

    def _lose(self, left: Sequence[Shard], reason: str) -> None:
        """Begin again what a lost process had not done: the shard in hand by itself, then the others."""
        first, others = left[0], left[1:]
        self.losses[first.name] += 1
        if self.losses[first.name] < ATTEMPTS:
            self._begin([first])
        else:
            self.failures[first.name] = f"its process was lost {ATTEMPTS} times; the last time: {reason}"
            store(self.folder, Outcome(first.name, failure=self.failures[first.name]))
        if others:
            self._begin(others)


def batches_of(shards: Sequence[Shard], engine: Engine) -> list[Batch]:
    """Deal the shards to batches in turn, so that each batch has long and short ones."""
    size = max(1, min(engine.most, -(-len(shards) // (BATCHES_PER_SLOT * engine.slots))))
    count = -(-len(shards) // size)
    return [shards[first::count] for first in range(count)]
