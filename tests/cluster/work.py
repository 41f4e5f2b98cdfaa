"""Work of shards in tests; importable, as engines need it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from burnish.cli.jobs.job import Job, SearchSettings
from burnish.cli.jobs.search_shards import search_or_error
from burnish.cluster.evaluating import evaluate_case
from burnish.cluster.policies import Contents
from burnish.core.task import Task
from burnish.evaluation.cases import Case
from burnish.evaluation.compare import MethodComparison
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.train.measuring import Measurement
from burnish.tasks.tensors.machine import host
from burnish.workers.worker import Worker


def square(number: int) -> int:
    return number * number


def pair(number: int) -> tuple[int, None]:
    return number, None


def wait(number: int, seconds: float) -> int:
    time.sleep(seconds)
    return number * number


def note(log: str, number: int, seconds: float) -> int:
    """Append the number and this process to a file, and wait."""
    with Path(log).open("a") as file:
        file.write(f"{number} {os.getpid()}\n")
    return wait(number, seconds)


def fail(number: int) -> int:
    raise ValueError(f"no square of {number}")


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_once(mark: str, number: int) -> int:
    """Kill the process unless an earlier one was killed."""
    path = Path(mark)
    if not path.exists():
        path.touch()
        die(number)
    return number * number


def length(content: bytes) -> int:
    return len(content)


def core() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def cores_of_worker() -> tuple[list[int], list[int]]:
    """Return the cores that this process may use, and those of a worker that it starts."""
    with closing(Worker()) as worker:
        return core(), worker.call(core)


def made_up(key: tuple[str, int], plan: object, seed: int, guide: object) -> list[Measurement]:
    """Return eight measurements of a nest, whose times depend on the arguments only."""
    rng = np.random.default_rng([seed, len(key[0])])
    nest = parse(key[0])
    drawn = [draw(nest, key[1], rng) for _ in range(8)]
    seconds = rng.uniform(1, 2, 8).tolist()
    return [
        Measurement(*key, *sketch, taken, host().cpu) for sketch, taken in zip(drawn, seconds, strict=True)
    ]


def compare_or_fail(plan: MethodComparison, case: Case, *others: Any) -> list[tuple[str, str]]:
    """Compare methods, but be a defect for hash_table.c."""
    if case.name.endswith("hash_table.c"):
        fail(0)
    return evaluate_case(plan, case, *others)


def search_or_die(task: Task, job: Job, settings: SearchSettings, contents: Contents) -> tuple[str, str]:
    """Search, but kill the process for matrix.c, and be a defect for structs.c."""
    if job.program.name == "matrix.c":
        die(0)
    if job.program.name == "structs.c":
        fail(0)
    return search_or_error(task, job, settings, contents)
