"""Samples of several contenders in turns: what else the machine does meets all of them."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping

from burnish.tasks.loop_nests.kernel import CompiledNest
from burnish.tasks.tensors.arrays import Array

BATCH_SECONDS = 2e-3
Sample = Callable[[], float]
"""Returns the CPU seconds of a call, as a batch of calls has them."""


def take(contenders: Mapping[str, Sample], rounds: int) -> dict[str, list[float]]:
    """Return the samples: in each round one of every contender, in an order that is drawn for the round.

    Who follows whom changes, too: what follows naive loops is slower for some milliseconds.
    """
    names, rng = list(contenders), random.Random(0)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in rng.sample(names, len(names)):
            samples[name].append(contenders[name]())
    return samples


def of_call(call: Callable[[], object], batch_seconds: float = BATCH_SECONDS) -> Sample:
    """Return samples of a Python call, with what Python takes for it.

    The time is that of all of the process' threads: some libraries compute in others than the caller's.
    """
    call()
    once = min(_seconds(call, 1) for _ in range(3))
    calls = max(1, math.ceil(batch_seconds / max(once, 1e-7)))

    def sample() -> float:
        _seconds(call, calls)  # caches, and the clock of the core, are as others left them
        return _seconds(call, calls) / calls

    return sample


def of_kernel(compiled: CompiledNest, arrays: Mapping[str, Array]) -> Sample:
    """Return samples of machine code that a loop of machine code calls."""

    def sample() -> float:
        compiled.seconds(arrays, samples=2)  # see of_call
        return statistics.fmean(compiled.seconds(arrays, samples=1) for _ in range(2))  # 1 ms each

    return sample


def _seconds(call: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in itertools.repeat(None, calls):
        call()
    return time.process_time() - start
