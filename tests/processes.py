"""Functions called in several processes at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from burnish.workers.worker import Limits, Worker
from tests.waiting import MOST_SECONDS


def call_at_once(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> None:
    """Call a function of a module in one process for each tuple of arguments; raise its error."""
    workers = [(Worker(Limits(deadline_seconds=MOST_SECONDS)), arguments) for arguments in calls]
    begun = [(worker, worker.begin(function, *arguments)) for worker, arguments in workers]
    for worker, call in begun:
        worker.finish(call)
        worker.close()
