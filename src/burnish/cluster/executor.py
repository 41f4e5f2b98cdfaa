"""An executor whose shards are done on an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.cluster.engine import Engine
from burnish.cluster.run import run_shards
from burnish.cluster.shards import FAILURES, value_of
from burnish.core.errors import InputError
from burnish.workers.executor import Shard


@dataclass(frozen=True)
class OnEngine:
    """An executor: shards on an engine, whose results stay in a folder, where a later call finds them.

    Attributes:
        begin: Opens the engine for a folder; each call of the executor opens it again.
        folder: The folder of the shards; see `run_shards`.
    """

    begin: Callable[[Path], Engine]
    folder: Path

    def __call__(self, shards: Sequence[Shard]) -> Iterator[tuple[str, Any]]:
        """See Executor.

        Raises:
            InputError: shards failed; all others are done. The next call tries them again.
        """
        if not shards:
            return
        failures = []
        for name, failure in run_shards(self.begin(self.folder), self.folder, shards):
            if failure:
                failures.append(failure)
            else:
                yield name, value_of(self.folder, name)
        if failures:
            first = failures[0].strip().splitlines()[-1]
            raise InputError(
                f"{len(failures)} of {len(shards)} shards failed: {first}; see {self.folder / FAILURES}"
            )
