"""Executors do many shards of work: one after the other, in processes of this machine, or on an engine.

Rooms below `burnish.cluster` take an executor as an argument, so the same code works on one machine or many.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.workers.worker import GIB, Limits, Worker, wait

NAME = re.compile(r"[\w.@+-]{1,180}")
LIMITS = Limits(deadline_seconds=86400.0, memory_bytes=256 * GIB)  # a shard's own workers have tighter ones
LOOK_SECONDS = 1.0  # longest time until Ctrl-C is seen


@dataclass(frozen=True)
class Shard:
    """One piece of work.

    Attributes:
        name: Its name, unique in its run: letters, digits and `._@+-`.
        work: An importable function. Its value must be JSON, and depend on the arguments only.
        arguments: The arguments, which must be picklable.
        pinned: Whether an engine gives it a core of its own; otherwise it takes all cores that it may.
    """

    name: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    pinned: bool = True

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InputError(f"shard {self.name!r}: expected 1 to 180 letters, digits and ._@+-")


Executor = Callable[[Sequence[Shard]], Iterator[tuple[str, Any]]]
"""Does all shards; yields each one's name and value as it ends. The values are as JSON returns them.

Raises the exception of a shard that failed: on one machine at once, on an engine after all other shards.
"""


@dataclass(frozen=True)
class Processes:
    """An executor: worker processes of this machine; for one shard at a time, this process itself."""

    count: int

    def __call__(self, shards: Sequence[Shard]) -> Iterator[tuple[str, Any]]:
        """See Executor.

        Raises:
            CompilerCrash: a shard killed its process.
        """
        if self.count == 1:
            for shard in shards:
                yield shard.name, as_json(shard.work(*shard.arguments))
            return
        waiting = deque(shards)
        idle = [Worker(LIMITS) for _ in range(min(self.count, len(shards)))]
        running: dict[Worker, str] = {}
        try:
            while waiting or running:
                while waiting and idle:
                    shard, worker = waiting.popleft(), idle.pop()
                    worker.send(shard.work, *shard.arguments)
                    running[worker] = shard.name
                for worker in wait(list(running), LOOK_SECONDS):
                    _, value = worker.receive()
                    idle.append(worker)
                    yield running.pop(worker), as_json(value)
        finally:
            for worker in (*idle, *running):
                worker.close()


IN_TURN = Processes(1)  # one shard after the other


def each_core() -> Processes:
    """Return an executor with a process for each core that this process may use."""
    return Processes(len(os.sched_getaffinity(0)))


def in_order(do: Executor, shards: Sequence[Shard]) -> Iterator[Any]:
    """Do shards; yield their values in the order of the shards, each as soon as the earlier ones ended.

    Shards of one name are the same shard, which is done once.
    """
    waiting, values = deque(shard.name for shard in shards), dict[str, Any]()
    for name, value in do([*{shard.name: shard for shard in shards}.values()]):
        values[name] = value
        while waiting and waiting[0] in values:
            yield values[waiting.popleft()]


def name_of(*parts: object) -> str:
    """Return a shard's name that differs if any part differs that its value depends on."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def program_shard(work: Callable[..., Any], task: Task, program: Program, *more: Any) -> Shard:
    """Return the shard work(task, program, *more); `more` are values that differ where their texts do."""
    parts = work.__qualname__, task.id, dict(task.options), program.name, program.key, *more
    return Shard(name_of(*parts), work, (task, program, *more))


def as_json(value: Any) -> Any:
    """Return a value as it is read back from JSON: tuples become lists, for example."""
    return json.loads(json.dumps(value))
