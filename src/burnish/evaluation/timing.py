"""Timing of executables: a verdict needs a confidence interval."""

from __future__ import annotations

import itertools
import math
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import Miscompiled
from burnish.core.program import Run, Workload
from burnish.evaluation.intervals import centre, fewest, signed_rank_interval
from burnish.llvm.run import execute, link
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.run.running import PATIENT
from burnish.llvm.run.stopwatch import SECONDS, measurement_lock, quiet_core

FASTER, SLOWER, NO_DIFFERENCE, IDENTICAL = "faster", "slower", "no difference beyond noise", "identical"

Clock = Callable[[Path, Run], float]
"""Runs an executable once and returns the run's cost."""


@dataclass(frozen=True)
class Effort:
    """The effort of a comparison."""

    repeats: int = 15  # rounds; each runs every program twice on every input
    confidence: float = 0.95
    seed: int = 0  # of the order in a round


@dataclass(frozen=True)
class Comparison:
    """The speedup of a candidate over a baseline: the baseline's times / the candidate's times."""

    ratio: float  # above 1: the candidate is faster
    low: float  # of the confidence interval
    high: float
    verdict: str  # FASTER, SLOWER, NO_DIFFERENCE, IDENTICAL
    confidence: float
    repeats: int
    noise: float = 1.0  # ratio of the baseline's times to those of its copy, or the inverse, at least 1
    least: tuple[float, float] = (0.0, 0.0)  # of (baseline, candidate): summed over the inputs
    median: tuple[float, float] = (0.0, 0.0)


Times = Sequence[Sequence[float]]  # [rounds][inputs]


def compare_rounds(baseline: Times, same: Times, candidate: Times, confidence: float) -> Comparison:
    """Compare measurements in rounds; each round has one measurement per program and input.

    The candidate is faster, or slower, if the ratio's interval excludes 1 and the noise: the ratio of the
    baseline to its copy.

    Args:
        baseline: The baseline's times.
        same: The times of a copy of the baseline.
        candidate: The candidate's times.
        confidence: The interval's confidence.

    Raises:
        InputError: there are too few rounds for this confidence.
    """
    ratios = _log_ratios(baseline, candidate)
    low, high = signed_rank_interval(ratios, confidence)
    noise = abs(centre(_log_ratios(baseline, same)))
    return Comparison(
        ratio=math.exp(centre(ratios)),
        low=math.exp(low),
        high=math.exp(high),
        verdict=verdict_of(low, high, noise),
        confidence=confidence,
        repeats=len(ratios),
        noise=math.exp(noise),
        least=(_least([*baseline, *same]), _least(candidate)),
        median=(_median(baseline), _median(candidate)),
    )


def compare_counts(baseline: Times, candidate: Times, confidence: float) -> Comparison:
    """Compare one round of exact measurements; the interval has no width."""
    (log_ratio,) = _log_ratios(baseline, candidate)
    ratio = math.exp(log_ratio)
    counts = _least(baseline), _least(candidate)
    return Comparison(
        ratio, ratio, ratio, verdict_of(log_ratio, log_ratio, 0.0), confidence, 1, least=counts, median=counts
    )


def verdict_of(low: float, high: float, noise: float) -> str:
    """Return the verdict of an interval of log(ratio): no difference if it overlaps -noise to noise."""
    return FASTER if low > noise else SLOWER if high < -noise else NO_DIFFERENCE


def compare_times(
    baseline: Path,
    candidate: Path,
    workload: Workload,
    *,
    what: str = SECONDS,
    effort: Effort = Effort(),
    clock: Clock | None = None,
) -> Comparison:
    """Time two executables in turn, without other measurements of burnish on the machine.

    In each round, the baseline, its copy and the candidate run every input on one core, in random order. They
    then run again in the opposite order, so that drift cancels. The lesser of the two times counts, because
    disturbances only make runs longer. The copy's times show the remaining noise. An additional first round
    is not counted. An emulator counts the same in each run, so each input runs once.

    Args:
        baseline: An executable.
        candidate: Another executable.
        workload: The inputs.
        what: Seconds of CPU time, or one of the counters of burnish.llvm.run.
        effort: The number of rounds and the confidence.
        clock: Measures a run; for tests.

    Raises:
        InputError: the confidence is not between 0 and 1.
        Miscompiled: a run fails.
        MissingTool: the machine has no such counter.
    """
    measure = clock or run_clock(workload, what)
    if workload.emulator:
        before, after = ([[measure(path, run) for run in workload.runs]] for path in (baseline, candidate))
        return compare_counts(before, after, effort.confidence)
    rounds = max(effort.repeats, fewest(effort.confidence))
    rng = np.random.default_rng(effort.seed)
    sources = baseline, baseline, candidate
    times: tuple[list[list[float]], ...] = [], [], []  # [program][round][input]
    for number in range(1 + rounds):
        row = time_round(sources, workload, measure, rng)
        for kept, values in zip(times, row.tolist(), strict=True):
            if number:
                kept.append(values)
    first, same, second = times
    return compare_rounds(first, same, second, effort.confidence)


def time_round(
    sources: Sequence[Path], workload: Workload, measure: Clock, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Time executables in turn, each twice on every input; return the lesser times, [executables, inputs].

    Args:
        sources: The executables; one that is listed twice is timed twice.
        workload: The inputs.
        measure: Measures a run.
        rng: Draws the order.
    """
    row = np.full((len(sources), len(workload.runs)), np.inf)
    # The lock is for one round only, because other processes wait for it.
    with temporary_folder() as folder, measurement_lock():
        # New copies each round, because a file's pages keep their place in memory, which affects times.
        programs = [_copy(path, folder / str(i)) for i, path in enumerate(sources)]
        for column, run in enumerate(workload.runs):
            order = rng.permutation(len(sources))
            for program in (*order, *order[::-1]):
                row[program, column] = min(row[program, column], measure(programs[program], run))
    return row


@contextmanager
def linker(workload: Workload) -> Iterator[Callable[[bytes], Path]]:
    """Yield a function that links objects of a program; the executables are removed at the end.

    The function raises CompileError if an object cannot be linked.
    """
    numbers = itertools.count()
    with temporary_folder() as folder:
        yield lambda code: link(code, workload, folder / str(next(numbers)))


class Comparer:
    """Compares objects of programs; caches the comparisons."""

    def __init__(self, effort: Effort = Effort()) -> None:
        self.effort = effort
        self._known: dict[tuple[bytes, bytes, str, str], Comparison] = {}

    def compare(
        self, baseline: bytes, candidate: bytes, workload: Workload, what: str = SECONDS
    ) -> Comparison:
        """Compare two objects of a program by `compare_times`; equal objects are not timed.

        Raises:
            CompileError: an object cannot be linked.
            Miscompiled: a run fails.
            MissingTool: the machine has no such counter.
        """
        if baseline == candidate:
            return Comparison(1.0, 1.0, 1.0, IDENTICAL, self.effort.confidence, 0)
        key = baseline, candidate, workload.digest, what
        if key not in self._known:
            with linker(workload) as linked:
                first, second = linked(baseline), linked(candidate)
                self._known[key] = compare_times(first, second, workload, what=what, effort=self.effort)
        return self._known[key]


def run_clock(workload: Workload, what: str = SECONDS) -> Clock:
    """Return a function that runs an executable on the measurement core and returns the run's cost.

    The function raises Miscompiled if a run crashes or does not end, and MissingTool if there is no such
    counter.
    """
    limits = PATIENT if workload.emulator else replace(PATIENT, cpu=quiet_core())
    counters = () if what == SECONDS else (what,)

    def measure(executable: Path, run: Run) -> float:
        done = execute(
            executable,
            run,
            files=workload.files,
            limits=limits,
            counters=counters,
            emulator=workload.emulator,
        )
        if done.killed or done.status < 0:
            raise Miscompiled(f"input {run.name!r}: {done.ending}")
        return done.cpu_seconds if what == SECONDS else done.counters[what]

    return measure


def _copy(source: Path, destination: Path) -> Path:
    destination.unlink(missing_ok=True)
    return Path(shutil.copy(source, destination))


def _log_ratios(baseline: Times, candidate: Times) -> list[float]:
    pairs = zip(baseline, candidate, strict=True)
    return [math.log(max(sum(b), 1e-9) / max(sum(c), 1e-9)) for b, c in pairs]


def _least(times: Times) -> float:
    return math.fsum(min(column) for column in zip(*times, strict=True))


def _median(times: Times) -> float:
    return statistics.median(map(sum, times))
