"""Samples of several contenders in turns, fewer of those that are slow."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from loop_nests.rounds import Sample, take

from burnish.tasks.mlir_schedules.kernel import Arrays, CompiledSchedule

SLOW_SECONDS = 0.2  # of a call
FEW = 3  # rounds of what is slow


def take_turns(contenders: Mapping[str, Sample], rounds: int) -> dict[str, list[float]]:
    """Return the samples: in each round one of every contender; the slow are in the first FEW rounds only."""
    samples = take(contenders, min(FEW, rounds))
    quick = [name for name, found in samples.items() if statistics.median(found) < SLOW_SECONDS]
    rest = take({name: contenders[name] for name in quick}, max(0, rounds - FEW)) if quick else {}
    return {name: [*found, *rest.get(name, ())] for name, found in samples.items()}


def of_kernel(compiled: CompiledSchedule, arrays: Arrays) -> Sample:
    """Return samples of machine code that a loop of machine code calls, after as long untimed."""

    def sample() -> float:
        first = compiled.seconds(arrays, samples=2)  # 1 ms each
        if first > SLOW_SECONDS:
            return first
        return statistics.fmean(compiled.seconds(arrays, samples=1) for _ in range(2))

    return sample
