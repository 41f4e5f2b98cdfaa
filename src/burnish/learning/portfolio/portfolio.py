"""Portfolio of sequences with their costs and times; greedy choice of those that add the most gain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.trace import Trace
from burnish.learning.portfolio.costs import log_ratios, relative_seconds

MOST = 0.5  # log ratio; larger gains are cut to it, otherwise one program would outweigh many
LEAST_GAIN = 1e-5  # least addition to the mean log ratio of a sequence in the portfolio
OVERHEAD = 0.5  # time of trying a sequence beside applying it, in units of the reference's time


def by_gain_for_time(
    log_ratios: NDArray[np.float64], seconds: NDArray[np.float64], size: int
) -> tuple[list[int], list[float]]:
    """Choose sequences greedily: (row numbers, what each adds to the mean log ratio).

    Args:
        log_ratios: [N, P], log(reference / cost) of N sequences on P programs.
        seconds: [N, P], times of trying the sequences, in units of the reference's time on that program.
        size: Most sequences to choose.
    """
    gains = log_ratios.clip(0, MOST) / log_ratios.shape[1]
    return greedy_cover(gains, size, time=OVERHEAD + seconds.mean(axis=1), least=LEAST_GAIN)


def greedy_cover(
    gains: NDArray[np.float64], most: int, *, time: NDArray[np.float64] | None = None, least: float = 0.0
) -> tuple[list[int], list[float]]:
    """Choose rows one by one, each the one that adds most to the sum of the elementwise maximum so far.

    Args:
        gains: float64[choices, cases], at least 0.
        most: Most rows to choose.
        time: float64[choices], above 0; if given, the next row is the one that adds most per time.
        least: A row that adds no more than this is not chosen.

    Returns:
        The rows in the order of their choice, and what each adds to the sum.
    """
    best = np.zeros(gains.shape[1])
    chosen: list[int] = []
    added: list[float] = []
    while len(chosen) < min(most, len(gains)):
        sums = np.maximum(gains, best).sum(axis=1) - best.sum()
        worth = np.where(sums > least, sums if time is None else sums / time, 0.0)
        i = int(worth.argmax())
        if worth[i] <= 0:
            break
        chosen.append(i)
        added.append(float(sums[i]))
        best = np.maximum(best, gains[i])
    return chosen, added


@dataclass
class Portfolio:
    """N sequences, with their costs and times on P programs.

    Attributes:
        programs: Names of the programs.
        references: float64[P], costs under the task's reference.
        traces: The N sequences; the first is the reference.
        costs: float64[N, P], infinite if a sequence fails.
        seconds: float64[N, P], time of applying a sequence.
        dropped: Other sequences, which were tried on only some of the programs.
        generations: Number of generations so far.
    """

    programs: list[str]
    references: NDArray[np.float64]
    traces: list[Trace]
    costs: NDArray[np.float64]
    seconds: NDArray[np.float64]
    dropped: set[Trace] = field(default_factory=set)
    generations: int = 0

    def chosen(self, size: int) -> tuple[list[Trace], list[float]]:
        """Choose at most `size` sequences by gain per time: (sequences, what each adds to mean log ratio)."""
        order, added = self.numbers(size)
        return [self.traces[i] for i in order], added

    def numbers(self, size: int) -> tuple[list[int], list[float]]:
        """Choose as `chosen` does, but return the rows of the sequences."""
        return by_gain_for_time(self.log_ratios, self.relative_seconds, size)

    @property
    def log_ratios(self) -> NDArray[np.float64]:
        """log(reference / cost), float64[N, P]."""
        return log_ratios(self.references, self.costs)

    @property
    def relative_seconds(self) -> NDArray[np.float64]:
        """Times of trying a sequence, in units of the reference's time, float64[N, P]."""
        return relative_seconds(self.traces, self.seconds, self.seconds[0])

    def add(self, generation: Generation) -> None:
        """Add a generation."""
        self.traces += generation.traces
        self.costs = np.vstack([self.costs, generation.costs])
        self.seconds = np.vstack([self.seconds, generation.seconds])
        self.dropped.update(generation.dropped)
        self.generations += 1


@dataclass(frozen=True)
class Generation:
    """n sequences tried on all P programs, float64[n, P], and those dropped after some programs."""

    traces: list[Trace]
    costs: NDArray[np.float64]
    seconds: NDArray[np.float64]
    dropped: list[Trace] = field(default_factory=list)

    def line(self) -> dict[str, Any]:
        """Return the generation as JSON values; the cost of a failed sequence is None."""
        finite = np.where(np.isfinite(self.costs), self.costs, None)  # type: ignore[call-overload]
        return {
            "traces": self.traces,
            "costs": finite.tolist(),
            "seconds": self.seconds.round(5).tolist(),
            "dropped": self.dropped,
        }

    @classmethod
    def read(cls, line: dict[str, Any], programs: int) -> Generation:
        """Read a generation that `line` returned; `programs` is the number of programs."""
        shape = (len(line["traces"]), programs)
        costs = np.array(line["costs"], dtype=np.float64).reshape(shape)  # None becomes NaN
        return cls(
            [tuple(trace) for trace in line["traces"]],
            np.where(np.isnan(costs), np.inf, costs),
            np.array(line["seconds"], dtype=np.float64).reshape(shape),
            [tuple(trace) for trace in line["dropped"]],
        )
