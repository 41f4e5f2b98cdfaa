"""Workers that are closed at the end of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from burnish.workers.worker import GIB, Limits, Worker


@pytest.fixture
def make_worker(nothing_left: None) -> Iterator[Callable[..., Worker]]:
    """Return a function that makes a worker with some limits."""
    made: list[Worker] = []

    def make(**limits: Any) -> Worker:
        made.append(Worker(Limits(**limits)))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def worker(make_worker: Callable[..., Worker]) -> Worker:
    return make_worker(deadline_seconds=20, memory_bytes=GIB)
