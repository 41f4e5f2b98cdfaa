"""Worker processes are replaced before what compilers leak fills the memory."""

from __future__ import annotations

import math
import os
import resource
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.workers.process import Process
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits, Worker
from tests.core.counting_task import TASK, counters
from tests.core.failures import leaking_task

MIB = 1 << 20
SUBTRACT = TASK.actions.index("subtract(1)")


_kept: list[bytes] = []


def leak(size_bytes: int) -> int:
    """Keep so much memory, and return the process' number."""
    _kept.append(b"x" * size_bytes)
    return os.getpid()


def resident_mib(pid: int | None) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def pids_of_calls(worker: Worker, count: int) -> list[int]:
    return [worker.call(eval, "__import__('os').getpid()") for _ in range(count)]


def test_a_process_serves_so_many_calls(make_worker: Callable[..., Worker]) -> None:
    several = make_worker(recycle_calls=3)
    a, b, c, d, e, f, g = pids_of_calls(several, 7)
    assert a == b == c != d == e == f != g
    assert several.generation == 3


def test_without_a_leak_a_process_is_kept(make_worker: Callable[..., Worker]) -> None:
    assert len(set(pids_of_calls(make_worker(), 50))) == 1


def test_sessions_and_forks_go_on_where_they_were(make_worker: Callable[..., Worker]) -> None:
    shared = make_worker(recycle_calls=8)
    first = Sandbox(TASK.open, counters("a=640 b=77"), worker=shared)
    first.replay(["a: halve", "b: subtract(1)", "halve"])
    second = first.fork()
    second.apply(second.index("add(1)"))
    pid = shared.pid
    for _ in range(4):  # in mid-episode it is kept
        first.digest()
    assert shared.pid == pid
    third = Sandbox(TASK.open, counters("a=5"), worker=shared)
    assert shared.pid != pid
    assert [session.digest() for session in (first, second, third)] == ["a=160 b=38", "a=161 b=39", "a=5"]
    assert first.trace == ["a: halve", "b: subtract(1)", "halve"]
    assert shared.generation == 2


@pytest.mark.usefixtures("nothing_left")
def test_memory_is_bounded_where_the_compiler_leaks() -> None:
    env = Env(
        leaking_task(TASK, 8 * MIB),
        counters("a=900"),
        max_steps=4,
        limits=Limits(recycle_bytes=100 * MIB, deadline_seconds=20),
    )
    assert env.worker
    seen, first, most = set(), math.inf, 0.0
    for _ in range(12):  # which leak 384 MiB
        _, info = env.reset()
        assert info["cost"] == 901
        pid = env.worker.pid
        first = min(first, resident_mib(pid))
        for step in range(4):
            assert env.step(SUBTRACT)[-1]["cost"] == 900 - step
            assert env.worker.pid == pid  # it is replaced where an episode begins
        seen.add(pid)
        most = max(most, resident_mib(pid))
    assert len(seen) == 3
    assert most - first < 100 + 2 * 4 * 8 + 10  # an episode before one looks, and one after
    env.close()


def test_memory_may_grow_by_a_quarter_of_its_limit(make_worker: Callable[..., Worker]) -> None:
    small = make_worker(memory_bytes=512 * MIB)
    pids = [small.call(eval, f"b'x' * {200 * MIB} and __import__('os').getpid()") for _ in range(3)]
    assert len(set(pids)) == 1  # what a call gave back does not count
    pids = [small.call(leak, 60 * MIB) for _ in range(6)]
    assert len(set(pids)) == 2


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_environments_of_a_worker_go_on_when_it_is_replaced(asynchronous: bool) -> None:
    limits = Limits(recycle_calls=20, deadline_seconds=20)
    make = partial(Env, TASK, counters("a=900"), limits=limits, max_steps=7)
    several = VectorEnv(make, 5, workers=2)
    infos = several.reset(seed=0)[1]
    costs = [[cost] for cost in infos["cost"].tolist()]
    if asynchronous:
        for i in range(5):
            several.send(i, SUBTRACT)
        while min(map(len, costs)) < 30:
            for i, (*_, info) in several.ready():
                costs[i].append(info["cost"])
                several.send(i, SUBTRACT)
    else:
        for _ in range(30):
            for row, cost in zip(costs, several.step([SUBTRACT] * 5)[-1]["cost"].tolist(), strict=True):
                row.append(cost)
    for row in costs:
        assert row[:30] == [901 - step for step in [*range(8)] * 4][:30]
    generations = {env.worker.generation for env in several.envs if env.worker}
    assert len({env.worker for env in several.envs}) == 2
    assert min(generations) >= 2
    several.close()


def test_a_process_that_ends_while_it_is_looked_at_has_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen(["sleep", "60"])
    descriptor = os.open(f"/proc/{child.pid}/statm", os.O_RDONLY)
    child.kill()
    child.wait()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda path, flags: descriptor)
        assert Process.resident_bytes(Mock(popen=child)) == 0
