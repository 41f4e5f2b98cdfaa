"""The processes of this machine."""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path

from burnish.cluster.engine import Batch, Ended
from burnish.cluster.shards import do
from burnish.core.errors import CompilerCrash
from burnish.workers.executor import LIMITS
from burnish.workers.worker import Worker, wait


class LocalEngine:
    """Worker processes, one for each core that this process may use, or fewer."""

    def __init__(self, folder: Path, *, processes: int | None = None) -> None:
        """Start no process yet.

        Args:
            folder: The run's folder.
            processes: The number of processes; by default one for each core.
        """
        self.folder = folder
        self.slots = processes or len(os.sched_getaffinity(0))
        self.most = 64
        self._workers = [Worker(LIMITS) for _ in range(self.slots)]
        self._waiting: deque[tuple[int, Batch]] = deque()
        self._running: dict[Worker, int] = {}

    def begin(self, number: int, batch: Batch) -> None:
        """See Engine."""
        self._waiting.append((number, batch))
        self._fill()

    def ended(self, seconds: float) -> list[Ended]:
        """See Engine; also returns after the first shard that ends."""
        found = []
        ready = wait(list(self._running), seconds) if self._running else []
        now = time.monotonic()
        for worker in ready or [worker for worker in self._running if worker.deadline < now]:
            try:
                more, _ = worker.receive(None if ready else 0.0)
                lost = ""
            except CompilerCrash as error:
                more, lost = False, str(error)
            if not more:
                found.append(Ended(self._running.pop(worker), lost))
        self._fill()
        return found

    def close(self) -> None:
        """See Engine."""
        for worker in self._workers:
            worker.close()
        self._waiting.clear()
        self._running.clear()

    def _fill(self) -> None:
        for worker in self._workers:
            if worker not in self._running and self._waiting:
                number, batch = self._waiting.popleft()
                self._running[worker] = number
                worker.send(do, tuple(batch), self.folder)
