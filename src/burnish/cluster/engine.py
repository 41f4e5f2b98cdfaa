"""Engines: they run batches of shards, and report the ends of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from burnish.workers.executor import Shard

Batch = Sequence[Shard]


@dataclass(frozen=True)
class Ended:
    """A batch that ended: all its shards were tried, or its process was lost."""

    number: int
    lost: str = ""  # the reason, in words, if the process was lost before its last shard


class Engine(Protocol):
    """Processes on one machine or many.

    A batch's shards run one after the other in one process. Their results and failures are on disk before
    `ended` returns the batch.
    """

    slots: int  # number of batches that run at the same time
    most: int  # largest number of shards in a batch

    def begin(self, number: int, batch: Batch) -> None:
        """Begin a batch as soon as there is a place for it; `number` is unique in the run."""

    def ended(self, seconds: float) -> list[Ended]:
        """Return the batches that have ended, at the latest after so many seconds."""

    def close(self) -> None:
        """End all processes and jobs; batches that have not ended are lost."""
