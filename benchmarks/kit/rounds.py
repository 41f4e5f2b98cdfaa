"""Interleaved samples of several contenders, so that other load on the machine affects all of them."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from burnish.tasks.loop_nests.kernel import CompiledNest
from burnish.tasks.mlir_schedules.kernel import CompiledSchedule

BATCH_SECONDS = 2e-3
SLOW_SECONDS = 0.2  # a contender whose call takes as long is slow
FEW = 3  # rounds of a slow contender
Sample = Callable[[], float]
"""A function that times a batch of calls and returns the CPU seconds of one call."""


def take(contenders: Mapping[str, Sample], rounds: int) -> dict[str, list[float]]:
    """Return one sample of every contender for each round; the order is random in every round.

    The random order also changes the predecessors: after naive loops a contender is slower for some
    milliseconds.
    """
    names, rng = list(contenders), random.Random(0)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in rng.sample(names, len(names)):
            samples[name].append(contenders[name]())
    return samples


def take_turns(contenders: Mapping[str, Sample], rounds: int) -> dict[str, list[float]]:
    """Return one sample of every contender for each round; slow ones are in the first FEW rounds only."""
    samples = take(contenders, min(FEW, rounds))
    quick = [name for name, found in samples.items() if statistics.median(found) < SLOW_SECONDS]
    rest = take({name: contenders[name] for name in quick}, max(0, rounds - FEW)) if quick else {}
    return {name: [*found, *rest.get(name, ())] for name, found in samples.items()}


def of_call(call: Callable[[], object], batch_seconds: float = BATCH_SECONDS) -> Sample:
    """Return a sampler of a Python call; its times include the overhead of Python.

    The time is that of all threads of the process, because some libraries compute in other threads.
    """
    call()
    once = min(_seconds(call, 1) for _ in range(3))
    calls = max(1, math.ceil(batch_seconds / max(once, 1e-7)))

    def sample() -> float:
        _seconds(call, calls)  # warm-up: other contenders have changed the caches and the core's clock
        return _seconds(call, calls) / calls

    return sample


def of_kernel(compiled: CompiledNest | CompiledSchedule, arrays: Any) -> Sample:
    """Return a sampler that calls a kernel from a loop of machine code, after a warm-up of equal length.

    Args:
        compiled: The kernel.
        arrays: Its arrays, as its `seconds` takes them.
    """

    def sample() -> float:
        first = compiled.seconds(arrays, samples=2)  # 1 ms each
        if first > SLOW_SECONDS:
            return first
        return statistics.fmean(compiled.seconds(arrays, samples=1) for _ in range(2))

    return sample


def _seconds(call: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in itertools.repeat(None, calls):
        call()
    return time.process_time() - start
