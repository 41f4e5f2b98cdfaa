"""Ray's tasks, on this machine or on a cluster that runs already."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from burnish.cluster.content import pack, unpack
from burnish.cluster.engine import Batch, Ended
from burnish.cluster.shards import Outcome, attempt, is_done, store
from burnish.core.errors import InputError, MissingTool, install

LOCAL = "local"


class RayEngine:
    """One task for each batch; results come back through Ray, so nodes need no common folder.

    A program or a policy is an object in Ray's store, which sends it once to each node.
    """

    def __init__(
        self,
        folder: Path,
        *,
        address: str = LOCAL,
        slots: int | None = None,
        settings: Mapping[str, Any] = {},
    ) -> None:
        """Connect to Ray, or start it on this machine.

        Args:
            folder: The run's folder, which only this process writes.
            address: "local", or the address of a cluster: "auto", "ray://host:10001", "host:6379".
            slots: The most tasks at a time; by default the cluster's number of cores.
            settings: Options of each task, such as {"num_cpus": 1, "memory": 4000000000}.

        Raises:
            MissingTool: Ray is not installed.
            InputError: no cluster answers at this address.
        """
        try:
            import ray
        except ImportError:
            raise MissingTool(f"Ray is not installed: {install('cluster')}") from None
        self._ray = ray
        if not ray.is_initialized():  # by an earlier engine of this process, with which Ray ends
            try:
                here: dict[str, Any] = {"include_dashboard": False} if address == LOCAL else {}
                ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **here)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise InputError(f"--on ray: {address}: {str(error).splitlines()[0]}") from None
        self.folder = folder
        resources: dict[str, float] = ray.cluster_resources()
        self.slots = slots or max(1, int(resources.get("CPU", 1)))
        self.most = 256
        options = {"num_cpus": 1, "max_retries": 0, **settings}
        self._task = ray.remote(**options)(_do)
        self._waiting: deque[tuple[int, Batch]] = deque()
        self._running: dict[Any, int] = {}
        self._contents: dict[str, Any] = {}  # by digest: the object in Ray's store

    def begin(self, number: int, batch: Batch) -> None:
        """See Engine."""
        self._waiting.append((number, batch))
        self._fill()

    def ended(self, seconds: float) -> list[Ended]:
        """See Engine."""
        found = []
        references = list(self._running)
        ready, _ = self._ray.wait(references, num_returns=1, timeout=seconds) if references else ([], [])
        if ready:  # and all that are ready, too
            ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        for reference in ready:
            number = self._running.pop(reference)
            try:
                for outcome in self._ray.get(reference):
                    store(self.folder, outcome)
                found.append(Ended(number))
            except self._ray.exceptions.RayError as error:
                found.append(Ended(number, str(error).strip().splitlines()[0]))
        self._fill()
        return found

    def close(self) -> None:
        """See Engine; Ray itself ends with this process, because the next engine needs it again."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        self._waiting.clear()

    def _fill(self) -> None:
        while self._waiting and len(self._running) < 2 * self.slots:
            number, batch = self._waiting.popleft()
            missing = tuple(shard for shard in batch if not is_done(self.folder, shard.name))
            used: dict[str, Any] = {}
            packed = pack(missing, partial(self._put, used))
            self._running[self._task.remote(packed, used)] = number

    def _put(self, used: dict[str, Any], digest: str, content: bytes) -> None:
        if digest not in self._contents:
            self._contents[digest] = self._ray.put(content)
        used[digest] = self._contents[digest]


def _do(packed: bytes, contents: Mapping[str, Any]) -> list[Outcome]:
    """Do a batch in a process of Ray's; return the outcomes."""
    import ray

    batch: Batch = unpack(packed, lambda digest: ray.get(contents[digest]))
    return [attempt(shard) for shard in batch]
