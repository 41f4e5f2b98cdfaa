"""Interleaved samples of several contenders, fewer of the slow ones."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from loop_nests.rounds import Sample, take

from burnish.tasks.mlir_schedules.kernel import Arrays, CompiledSchedule

SLOW_SECONDS = 0.2  # a contender whose call takes as long is slow
FEW = 3  # rounds of a slow contender


def take_turns(contenders: Mapping[str, Sample], rounds: int) -> dict[str, list[float]]:
    """Return one sample of every contender for each round; slow ones are in the first FEW rounds only."""
    samples = take(contenders, min(FEW, rounds))
    quick = [name for name, found in samples.items() if statistics.median(found) < SLOW_SECONDS]
    rest = take({name: contenders[name] for name in quick}, max(0, rounds - FEW)) if quick else {}
    return {name: [*found, *rest.get(name, ())] for name, found in samples.items()}


def of_kernel(compiled: CompiledSchedule, arrays: Arrays) -> Sample:
    """Return a sampler that calls a kernel from a loop of machine code, after a warm-up of equal length."""

    def sample() -> float:
        first = compiled.seconds(arrays, samples=2)  # 1 ms each
        if first > SLOW_SECONDS:
            return first
        return statistics.fmean(compiled.seconds(arrays, samples=1) for _ in range(2))

    return sample
